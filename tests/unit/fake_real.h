/* SPDX-License-Identifier: MIT
 *
 * The next in line of the application's own calls: it only logs its calls, in the log of the fake kernel and
 * in capitals, "WRITE(5,abc)", and answers as the test wishes.
 */
#ifndef UNSTALL_FAKE_REAL_H
#define UNSTALL_FAKE_REAL_H

#include <sys/types.h>

enum { FAKE_ANSWERS = 16 };

struct fake_real {
    ssize_t answers[FAKE_ANSWERS]; /* in turn; 0: all of it; < 0: -errno */
    unsigned count;
    void (*meanwhile)(void); /* called within the next call, once */
};

extern struct fake_real fake_real;

/* Put it in the place of libc's. */
void fake_real_install(void);

#endif
