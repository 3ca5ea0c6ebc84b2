/* SPDX-License-Identifier: MIT
 *
 * A clock that only the test moves: clock_get = stopped_clock.
 */
#ifndef UNSTALL_UNIT_STOPPED_CLOCK_H
#define UNSTALL_UNIT_STOPPED_CLOCK_H

#include "clock.h"

#define MS UINT64_C(1000000)

static uint64_t time_ns = 1000000 * MS;

static int stopped_clock(clockid_t clock, struct timespec *now) {
    (void)clock;
    *now = (struct timespec){(time_t)(time_ns / 1000000000), (long)(time_ns % 1000000000)};
    return 0;
}

#endif
