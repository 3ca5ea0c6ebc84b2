/* SPDX-License-Identifier: MIT
 *
 * A clock of the kernel in nanoseconds.
 */
#ifndef UNSTALL_STATS_FILE_CLOCK_NS_H
#define UNSTALL_STATS_FILE_CLOCK_NS_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock) {
    struct timespec t = {0, 0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
