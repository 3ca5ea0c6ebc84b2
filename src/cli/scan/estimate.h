/* SPDX-License-Identifier: MIT
 *
 * Estimates how many stalls there were from the stalls that the samples have shown.  Pure.
 *
 * A dump of all sockets *discovers* a socket by a hold; from then on the scan *watches* it, for a
 * part of the time.  Each stall gets a weight, the inverse of the probability of seeing it:
 *
 * - A stall seen while the socket was watched: the time since the discovery, divided by the part of
 *   it that was watched.
 * - The stall that led to the discovery: dumps are g apart, so one of them meets a stall of length d
 *   with the probability d/g.  Its weight is g/d, at least 1.
 */
#ifndef UNSTALL_SCAN_ESTIMATE_H
#define UNSTALL_SCAN_ESTIMATE_H

#include <stdint.h>

/* The estimate for one socket, or the sum for several. */
struct scan_estimate {
    double count, low, high; /* stalls, with their 95 % interval */
    double lost_ns;          /* length of these stalls together */
    double variance;         /* of count; scan_estimate_end() makes the interval from it */
    double edges;            /* stalls across the begin or the end of the scan: one a span */
    uint64_t seen;           /* stalls that samples have shown */
    uint64_t seen_ns;        /* length of those together */
};

/* A span: from the discovery of a socket to the end of its time as a candidate. */
struct scan_found {
    uint64_t gap_ns;     /* from the dump before to the dump that discovered it */
    uint64_t alive_ns;   /* length of the span so far */
    uint64_t watched_ns; /* the watched part of it */
    unsigned discovered; /* 1: the hold of the discovery was a stall */
    unsigned watched;    /* stalls that began later */
    uint64_t stall_ns;   /* length of all these stalls together */
};

void scan_estimate_add(struct scan_estimate *e, const struct scan_found *f);

/* Sets low and high, after the last scan_estimate_add(). */
void scan_estimate_end(struct scan_estimate *e);

/* Adds stalls of the source `exact`, which sees each of them. */
void scan_estimate_exact(struct scan_estimate *e, uint64_t stalls, uint64_t lost_ns);

#endif
