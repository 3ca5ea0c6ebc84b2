/* SPDX-License-Identifier: MIT */
#include "clock.h"

uint64_t clock_stopped;

uint64_t clock_coarse_surely(uint64_t ns) {
    static uint64_t tick;
    if (!LOAD(&tick)) {
        struct timespec t = {0};
        clock_getres(CLOCK_MONOTONIC_COARSE, &t);
        STORE(&tick, (uint64_t)t.tv_nsec + !t.tv_nsec);
    }
    return ns > tick ? ns : tick;
}
