/* SPDX-License-Identifier: MIT
 *
 * From the stalls that samples have shown to the stalls that there were.  Pure.
 *
 * A socket is *watched* closely once a dump of all sockets has shown a hold on it.  What was
 * found in the watched time stands for all the time since then.  The stall by which it was
 * discovered stands for those that no dump met: a stall of length d meets one of the dumps,
 * which are g apart, with the probability d/g, and so counts g/d times, once at least.
 */
#ifndef UNSTALL_SCAN_ESTIMATE_H
#define UNSTALL_SCAN_ESTIMATE_H

#include <stdint.h>

/* What is known of one socket, or, added up, of several. */
struct scan_estimate {
    double count, low, high; /* stalls; the interval holds the truth in about 95 of 100 cases */
    double lost_ns;
    double variance;  /* of count: the interval is made of it */
    double edges;     /* stalls that may belong to the scan or not: at its begin and its end */
    uint64_t seen;    /* stalls that were really seen */
    uint64_t seen_ns; /* ... and how long they were together */
};

/* One discovery of a socket, and the stalls found while it was a candidate. */
struct scan_found {
    uint64_t gap_ns;   /* between the dump that discovered it and the one before */
    uint64_t alive_ns; /* since the discovery */
    uint64_t watched_ns;
    unsigned discovered; /* stalls by which it was discovered: 0 or 1 */
    unsigned watched;    /* stalls that began later */
    uint64_t stall_ns;   /* all of them together */
};

void scan_estimate_add(struct scan_estimate *e, const struct scan_found *f);

/* Set low and high, once all has been added. */
void scan_estimate_end(struct scan_estimate *e);

/* Stalls that were all seen, each at its time (source `exact`). */
void scan_estimate_exact(struct scan_estimate *e, uint64_t stalls, uint64_t lost_ns);

#endif
