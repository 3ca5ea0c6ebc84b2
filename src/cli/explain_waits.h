/* SPDX-License-Identifier: MIT
 *
 * How long stalls took: their number, their sum, and a histogram of fixed size, half
 * a millisecond wide up to 64 ms and 3 % above.  Pure.
 */
#ifndef UNSTALL_CLI_EXPLAIN_WAITS_H
#define UNSTALL_CLI_EXPLAIN_WAITS_H

#include <stdint.h>

/* 64 ms × 1.03^82 = 0.72 s: beyond all bounds of explain. */
enum { WAITS_EVEN = 128, WAITS_STEPS = 82, WAITS_BUCKETS = WAITS_EVEN + WAITS_STEPS };

struct waits {
    uint32_t count;
    int64_t sum_ns, min_ns, max_ns;
    uint32_t bucket[WAITS_BUCKETS];
};

void waits_add(struct waits *w, int64_t ns);
void waits_merge(struct waits *into, const struct waits *from);

/* The value below which a share of all lies, 0.5 for the median; 0 where there are none.
 * Never outside the smallest and the largest. */
int64_t waits_quantile(const struct waits *w, double share);

/* The lower bound of a bucket, in nanoseconds. */
double waits_bound(int bucket);

#endif
