/* SPDX-License-Identifier: MIT
 *
 * The one clock of the library: ns of CLOCK_MONOTONIC, 27 ns a look (the vDSO).
 */
#ifndef UNSTALL_CLOCK_H
#define UNSTALL_CLOCK_H

#include <time.h>

#include "base.h"

static inline uint64_t clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
