/* SPDX-License-Identifier: MIT
 *
 * Sums, differences and quantiles.
 */
#include "reader_parts.h"

static void add_times(struct reader_tally *a, const uint64_t *exchange, const uint64_t *answer) {
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        a->exchange[i] += exchange[i];
        a->answer[i] += answer[i];
    }
}

void reader_add(struct reader_tally *a, const struct reader_tally *b) {
    for (unsigned i = 0; i < STATS_COUNTERS; i++)
        a->counter[i] += b->counter[i];
    add_times(a, b->exchange, b->answer);
}

void reader_add_shard(struct reader_tally *a, const struct stats_shard *shard) {
    for (unsigned i = 0; i < STATS_COUNTERS; i++)
        a->counter[i] += STATS_COUNTER(shard, i);
    add_times(a, shard->exchange, shard->answer);
}

static void less(uint64_t *a, uint64_t b) {
    *a = *a > b ? *a - b : 0;
}

void reader_subtract(struct reader_tally *a, const struct reader_tally *b) {
    for (unsigned i = 0; i < STATS_COUNTERS; i++)
        less(&a->counter[i], b->counter[i]);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        less(&a->exchange[i], b->exchange[i]);
        less(&a->answer[i], b->answer[i]);
    }
}

const struct reader_row *reader_row_at(const struct reader_file *r, unsigned index) {
    for (size_t i = 0; i < r->row_count; i++)
        if (r->rows[i].index == index)
            return &r->rows[i];
    return NULL;
}

static void subtract_patterns(struct reader_file *after, const struct reader_file *before) {
    for (size_t i = 0; i < after->pattern_count && i < before->pattern_count; i++) {
        less(&after->patterns[i].count, before->patterns[i].count);
        less(&after->patterns[i].stalls, before->patterns[i].stalls);
        less(&after->patterns[i].stall_ns, before->patterns[i].stall_ns);
    }
    size_t kept = 0;
    for (size_t i = 0; i < after->pattern_count; i++)
        if (after->patterns[i].count)
            after->patterns[kept++] = after->patterns[i];
    after->pattern_count = kept;
}

void reader_since(struct reader_file *after, const struct reader_file *before) {
    for (size_t i = 0; i < after->row_count; i++) {
        const struct reader_row *old = reader_row_at(before, after->rows[i].index);
        if (old)
            reader_subtract(&after->rows[i].tally, &old->tally);
    }
    subtract_patterns(after, before);
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
