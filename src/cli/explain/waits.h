/* SPDX-License-Identifier: MIT
 *
 * Waits in constant memory.  How long they took: their number, their sum, and a histogram, whose buckets are
 * half a millisecond wide up to 64 ms and 3 % above.  When exchanges stalled and when they did not: counts in
 * parts of equal length, which grow with the time that they must cover.  Pure.
 */
#ifndef UNSTALL_CLI_WAITS_H
#define UNSTALL_CLI_WAITS_H

#include <stddef.h>
#include <stdint.h>

#define MS INT64_C(1000000) /* ns */

/* 64 ms × 1.03^82 = 0.72 s: beyond every bound that explain uses. */
enum { WAITS_EVEN = 128, WAITS_STEPS = 82, WAITS_BUCKETS = WAITS_EVEN + WAITS_STEPS };

/* Stalls that a report shows as examples, for each sender. */
enum { EXAMPLES = 3 };

struct waits {
    uint32_t count;
    int64_t sum_ns, min_ns, max_ns;
    uint32_t bucket[WAITS_BUCKETS];
};

void waits_add(struct waits *w, int64_t ns);
void waits_merge(struct waits *into, const struct waits *from);

/* The value below which a share of all waits lies, 0.5 for the median; 0 if there are none.  Never outside
 * the smallest and the largest. */
int64_t waits_quantile(const struct waits *w, double share);

/* The lower bound of a bucket, in nanoseconds. */
double waits_bound(int bucket);

enum { TIMELINE_PARTS = 64 };

/* All zero is an empty one. */
struct timeline {
    int64_t part_ns; /* a power of two of milliseconds; 0: empty */
    int64_t first;   /* part 0 begins at first * part_ns */
    uint32_t stalled[TIMELINE_PARTS], other[TIMELINE_PARTS];
};

/* A negative time counts as 0. */
void timeline_add(struct timeline *t, int64_t at_ns, uint32_t stalled, uint32_t other);
/* The number of parts up to the last one with a count. */
size_t timeline_used(const struct timeline *t);

void timeline_merge(struct timeline *into, const struct timeline *from);

/* "43.5 ms", "8.70 s", "3.2 h".  Writes into `text` and returns it. */
const char *duration_text(int64_t ns, char text[24]);

#endif
