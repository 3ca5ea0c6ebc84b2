/* SPDX-License-Identifier: MIT */
#include "estimate.h"

#include <math.h>

/* The estimator of Horvitz and Thompson: an event that is seen with the probability 1/w counts w
 * times and adds w (w - 1) to the variance.  The number of seen events is random too; one more is
 * added, so that the interval of a few events is not too narrow. */
static double sampling_variance(double seen, double weight) {
    return weight > 1 ? (seen + 1) * weight * (weight - 1) : 0;
}

void scan_estimate_add(struct scan_estimate *e, const struct scan_found *f) {
    unsigned stalls = f->discovered + f->watched;
    if (stalls == 0)
        return;
    double mean = (double)f->stall_ns / stalls, count = 0;
    if (f->discovered) {
        double weight = mean > 0 ? (double)f->gap_ns / mean : 1;
        weight = weight > 1 ? weight : 1;
        count += weight;
        e->variance += sampling_variance(f->discovered, weight);
    }
    if (f->watched) {
        double part = f->watched_ns && f->alive_ns > f->watched_ns
                          ? (double)f->alive_ns / (double)f->watched_ns
                          : 1;
        count += f->watched * part;
        e->variance += sampling_variance(f->watched, part);
    }
    e->count += count;
    e->lost_ns += count * mean;
    e->edges += 1;
    e->seen += stalls;
    e->seen_ns += f->stall_ns;
}

void scan_estimate_end(struct scan_estimate *e) {
    /* judge.c does not count a stall that looks shorter than SCAN_LATE_NS: about one in fifty. */
    double unclear = 0.02 * e->count;
    double half = 1.96 * sqrt(e->variance) + e->edges + unclear;
    e->low = e->count - half < (double)e->seen ? (double)e->seen - e->edges : e->count - half;
    e->low = e->low < 0 ? 0 : e->low;
    e->high = e->count + half;
}

void scan_estimate_exact(struct scan_estimate *e, uint64_t stalls, uint64_t lost_ns) {
    e->count += (double)stalls;
    e->lost_ns += (double)lost_ns;
    e->seen += stalls;
    e->seen_ns += lost_ns;
}
