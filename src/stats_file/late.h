/* SPDX-License-Identifier: MIT
 *
 * When is an acknowledgement late?  The one statement for the library, the command and the BPF programs;
 * src/analysis/record/late.py has the same numbers (tests/house/test_late.py compares).
 *
 * Linux delays an acknowledgement by TCP_DELACK_MIN = HZ/25 jiffies, nominally 40 ms.  The jiffy in which
 * the timer starts has begun already, so the delay is up to a jiffy shorter: 30 to 40 ms with HZ=100, the
 * coarsest clock, 36 to 40 with HZ=250; the scheduler adds some.  Other systems take 50, 100 or 200 ms;
 * RFC 1122 allows 500.
 *
 * Each bound below is beyond the round trip, and differs by what its source measures:
 *   - a capture has the times of packets, exact to a microsecond, and sees the first piece leave;
 *   - a sample (sock_diag) has the last segment's time in jiffies, as the delay is: it reads 30 ms at least;
 *   - a hook in the kernel counts from the write that was held.  That is later than the first piece by the
 *     program's own time between the two, and may lie anywhere in the delay: half of 40 ms is no round trip
 *     and no tick, and misses only what waited for less than half of the delay;
 *   - the library looks twice at TCP_INFO, from the held write on as the hook, each time exact to a jiffy.
 */
#ifndef UNSTALL_STATS_FILE_LATE_H
#define UNSTALL_STATS_FILE_LATE_H

enum {
    LATE_DELAY_MS = 40,                                /* TCP_DELACK_MIN: what a stall costs */
    LATE_JIFFY_MS = 10,                                /* with HZ=100 */
    LATE_SHORTEST_MS = LATE_DELAY_MS - LATE_JIFFY_MS,  /* no delayed acknowledgement comes sooner */
    LATE_USUAL_MS = 36,                                /* nor, with HZ=250 and above, than this */
    LATE_LONGEST_MS = 500 + 25,                        /* RFC 1122, and a tick of the slowest clock */
    LATE_IN_CAPTURE_MS = LATE_SHORTEST_MS - 1,         /* less the way from the peer to the capture */
    LATE_IN_SAMPLE_MS = LATE_SHORTEST_MS,
    LATE_AT_HOOK_MS = LATE_DELAY_MS / 2,
    LATE_IN_LIBRARY_MS = LATE_DELAY_MS / 2,
    LATE_IN_EXCHANGE_MS = LATE_SHORTEST_MS, /* of a program's time for a whole exchange */
};

#endif
