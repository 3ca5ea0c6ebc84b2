/* SPDX-License-Identifier: MIT
 *
 * Finds stalls in the samples of one socket.  Pure: no clock and no system call.
 *
 * A sample shows a *hold* when less than a segment waits unsent behind data in flight, and
 * nothing but Nagle's algorithm (or a cork) explains it: the peer's window and the
 * congestion window have room, no loss is repaired, pacing does not wait.  A hold is a
 * *stall* when it ends by an acknowledgement without data that comes late after the round trip
 * (late.h).  A hold that ends in another way is a cork, or a
 * segment that filled up.  The kernel's counters of segments show where one hold ends and the next
 * begins, so a missing sample does not join two holds.
 */
#ifndef UNSTALL_SCAN_JUDGE_H
#define UNSTALL_SCAN_JUDGE_H

#include "late.h"
#include "sample.h"

enum {
    SCAN_LATE_NS = LATE_IN_SAMPLE_MS * 1000 * 1000,
    /* Samples that are farther apart may have a whole stall between them. */
    SCAN_GAP_NS = 32 * 1000 * 1000,
};

struct scan_stall {
    uint64_t begin_ns, end_ns;
    bool discovered; /* the first sample already showed this hold */
};

struct scan_judge {
    bool started;            /* a sample has been taken */
    bool held;               /* the last sample showed a hold */
    bool first;              /* ... that the first sample already showed */
    struct scan_sample hold; /* the first sample of the present hold */
    struct scan_sample last; /* the last sample of all */
    uint64_t sent_ns;        /* the last segment in flight was sent */
    uint64_t begin_ns;       /* the hold began */
    uint64_t watched_ns;     /* time between samples at most SCAN_GAP_NS apart */
    uint64_t received;       /* bytes received at the begin of the last stall */
    unsigned stalls;         /* found so far */
    unsigned answered;       /* ... after which the peer sent data */
    unsigned corked;         /* holds that did not end by an acknowledgement */
    unsigned early;          /* holds that ended up to 20 ms too early for a delayed acknowledgement */
    unsigned short_holds;    /* holds that ended sooner, or by data of the peer */
    bool waits;              /* the peer has not answered since the last stall */
};

/* Does this sample alone show a hold? */
bool scan_holds(const struct scan_sample *s);

/* Takes the next sample.  True: a stall has ended, and *stall has its times. */
bool scan_judge(struct scan_judge *j, const struct scan_sample *s, struct scan_stall *stall);

/* True if many holds of this socket are no stalls: the program corks by hand, and its stalls are not
 * reported. */
bool scan_judge_corks(const struct scan_judge *j);

/* True if no answer followed any of several stalls: no program waits for the rest, and Nagle's
 * algorithm buffers such a stream of small writes on purpose. */
bool scan_judge_one_way(const struct scan_judge *j);

#endif
