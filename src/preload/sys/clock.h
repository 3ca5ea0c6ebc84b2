/* SPDX-License-Identifier: MIT
 *
 * The only clock of the library: CLOCK_MONOTONIC in ns.  A call costs 27 ns (vDSO).
 */
#ifndef UNSTALL_CLOCK_H
#define UNSTALL_CLOCK_H

#include <time.h>

#include "base.h"

/* Reads the kernel's clock directly.  Another preloaded library may replace clock_gettime (libfaketime): its
 * time differs from the kernel's, which ends our sleeps, and its code must not run on a thread of ours. */
extern INTERNAL int (*clock_get)(clockid_t clock, struct timespec *now);
void clock_start(void);

/* The vDSO reads the time-stamp counter, which prctl(PR_SET_TSC) takes from a task (SIGSEGV): from here on
 * the clock is read by the system call. */
void clock_avoid_vdso(void);
bool clock_is_call(void);

/* Not 0: no clock may be read any more; the value is the time when that began.  Strict mode of seccomp(2)
 * takes the counter too, and allows no system call for the clock. */
extern INTERNAL uint64_t clock_stopped;

static inline uint64_t clock_now(void) {
    uint64_t stopped = LOAD(&clock_stopped);
    if (UNLIKELY(stopped != 0))
        return stopped;
    struct timespec t;
    clock_get(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The same with the resolution of a kernel tick (1 to 10 ms).  A call costs 6 ns. */
static inline uint64_t clock_coarse(void) {
    struct timespec t;
    if (UNLIKELY(LOAD(&clock_stopped) != 0))
        return LOAD(&clock_stopped);
    clock_get(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Two values of clock_coarse() must differ by more than the result to prove that `ns` (or one tick, if
 * that is more) have passed: instants one microsecond apart may differ by a whole tick. */
uint64_t clock_coarse_surely(uint64_t ns);

#endif
