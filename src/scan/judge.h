/* SPDX-License-Identifier: MIT
 *
 * Is what the samples of one socket show a stall?  Pure: no clock and no system call.
 *
 * A sample shows a *hold* when less than a segment waits unsent behind data in flight, and
 * nothing but Nagle's algorithm (or a cork) explains it: the peer's window and the
 * congestion window have room, no loss is repaired, pacing does not wait.  A hold is a
 * *stall* when it ends by an acknowledgement without data that comes 30 ms or more after the
 * round trip: Linux delays them by 40 ms at least (TCP_DELACK_MIN), and ticks and samples
 * make that uncertain by some milliseconds.  A hold that ends in another way is a cork, or a
 * segment that filled up.  The counters of the kernel tell holds apart, so samples may be
 * missing.
 */
#ifndef UNSTALL_SCAN_JUDGE_H
#define UNSTALL_SCAN_JUDGE_H

#include "sample.h"

enum {
    SCAN_LATE_NS = 30 * 1000 * 1000,
    /* Samples that are farther apart may have a whole stall between them. */
    SCAN_GAP_NS = 32 * 1000 * 1000,
};

struct scan_stall {
    uint64_t begin_ns, end_ns;
    bool discovered; /* it was there at the first sample */
};

struct scan_judge {
    bool started;            /* there was a sample */
    bool held;               /* the last sample showed a hold */
    bool first;              /* ... that was there at the first sample */
    struct scan_sample hold; /* the first sample of the present hold */
    struct scan_sample last; /* the last sample of all */
    uint64_t sent_ns;        /* the last segment in flight was sent */
    uint64_t begin_ns;       /* the hold began */
    uint64_t watched_ns;     /* time between samples that were close together */
    uint64_t received;       /* at the end of the last stall */
    unsigned stalls;         /* found so far */
    unsigned answered;       /* ... after which the peer sent data */
    unsigned corked;         /* holds that did not end by an acknowledgement */
    unsigned early;          /* ... that ended too early for a delayed acknowledgement, yet late */
    unsigned short_holds;    /* ... that ended sooner, or by data of the peer */
    bool waits;              /* for an answer after the last stall */
};

/* Does this sample alone show a hold? */
bool scan_holds(const struct scan_sample *s);

/* Take the next sample.  True: a stall has ended, and *stall tells when. */
bool scan_judge(struct scan_judge *j, const struct scan_sample *s, struct scan_stall *stall);

/* May the stalls found on this socket be reported?  False: it corks by hand, or no answer ever
 * followed (Nagle's algorithm buffers a stream of small writes on purpose). */
bool scan_judge_corks(const struct scan_judge *j);
bool scan_judge_one_way(const struct scan_judge *j);

#endif
