/* SPDX-License-Identifier: MIT
 *
 * Adding up, taking apart, and quantiles.
 */
#include <string.h>

#include "reader.h"

void reader_add(struct reader_tally *a, const struct reader_tally *b) {
    for (unsigned i = 0; i < SEGMENT_COUNTERS; i++)
        a->counter[i] += b->counter[i];
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        a->exchange[i] += b->exchange[i];
        a->answer[i] += b->answer[i];
    }
}

static void less(uint64_t *a, uint64_t b) {
    *a = *a > b ? *a - b : 0;
}

void reader_subtract(struct reader_tally *a, const struct reader_tally *b) {
    for (unsigned i = 0; i < SEGMENT_COUNTERS; i++)
        less(&a->counter[i], b->counter[i]);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        less(&a->exchange[i], b->exchange[i]);
        less(&a->answer[i], b->answer[i]);
    }
}

bool reader_same_row(const struct segment_row *a, const struct segment_row *b) {
    return a->role == b->role && a->arm == b->arm && a->mode == b->mode &&
           memcmp(&a->endpoint, &b->endpoint, sizeof(a->endpoint)) == 0;
}

uint64_t reader_quantile(const uint64_t *buckets, unsigned steps, double share) {
    unsigned count = HISTOGRAM_OCTAVES * steps + 2;
    double all = 0, seen = 0;
    for (unsigned i = 0; i < count; i++)
        all += (double)buckets[i];
    if (all <= 0)
        return 0;
    unsigned last = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!buckets[i])
            continue;
        last = i;
        seen += (double)buckets[i];
        if (seen >= share * all)
            break;
    }
    if (last == count - 1)
        return histogram_lowest(last, steps);
    return (histogram_lowest(last, steps) + histogram_lowest(last + 1, steps)) / 2;
}
