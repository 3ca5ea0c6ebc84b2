/* SPDX-License-Identifier: MIT
 *
 * The one clock of the library: ns of CLOCK_MONOTONIC, 27 ns a look (the vDSO).
 */
#ifndef UNSTALL_CLOCK_H
#define UNSTALL_CLOCK_H

#include <time.h>

#include "base.h"

/* The kernel's own clock.  Another preloaded library may stand before libc's (libfaketime): its time is the
 * program's, not that by which the kernel wakes us, and none of its code is to run on a thread of ours. */
extern int (*clock_get)(clockid_t clock, struct timespec *now);
void clock_start(void);

/* Not 0: no clock may be read any more, and this is when that began.  seccomp(2)'s strict
 * mode forbids even the instruction that the vDSO reads it by (SIGSEGV). */
extern uint64_t clock_stopped;

static inline uint64_t clock_now(void) {
    uint64_t stopped = LOAD(&clock_stopped);
    if (UNLIKELY(stopped != 0))
        return stopped;
    struct timespec t;
    clock_get(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The same to a tick of the kernel (1 to 10 ms), 6 ns a look. */
static inline uint64_t clock_coarse(void) {
    struct timespec t;
    if (UNLIKELY(LOAD(&clock_stopped) != 0))
        return LOAD(&clock_stopped);
    clock_get(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What two looks at it must lie apart to say that at least `ns` (or a tick, if that is
 * more) lie between: two instants a microsecond apart may seem one tick apart. */
uint64_t clock_coarse_surely(uint64_t ns);

#endif
