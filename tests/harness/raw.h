/* SPDX-License-Identifier: MIT
 *
 * System calls that no preloaded library can see: the instruction itself.  The programs of the tests use them
 * for all but the calls that a test is about.
 */
#pragma once

#include <sys/syscall.h>

#include "../../src/preload/sys/machine.h"

#define RAW_ARG(x)          ((long)(x))
#define raw0(n)             raw6((n), 0, 0, 0, 0, 0, 0)
#define raw1(n, a)          raw6((n), RAW_ARG(a), 0, 0, 0, 0, 0)
#define raw2(n, a, b)       raw6((n), RAW_ARG(a), RAW_ARG(b), 0, 0, 0, 0)
#define raw3(n, a, b, c)    raw6((n), RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), 0, 0, 0)
#define raw4(n, a, b, c, d) raw6((n), RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), 0, 0)

/* fork(2), which not every processor has.  No header of the signals: some tests define their names anew. */
static inline long raw_fork(void) {
    enum { SIGCHLD_ = 17 };
#ifdef __s390x__ /* the stack comes first */
    return raw6(SYS_clone, 0, SIGCHLD_, 0, 0, 0, 0);
#else
    return raw6(SYS_clone, SIGCHLD_, 0, 0, 0, 0, 0);
#endif
}
