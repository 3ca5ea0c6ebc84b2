/* SPDX-License-Identifier: MIT */
#include "waits.h"

#include <stdio.h>

#include "format.h"

enum { EVEN_NS = 500000 };

static const double STEP = 1.03;

double waits_bound(int i) {
    double ns = (double)EVEN_NS * (i < WAITS_EVEN ? i : WAITS_EVEN);
    for (int k = WAITS_EVEN; k < i; k++)
        ns *= STEP;
    return ns;
}

static int bucket_of(int64_t ns) {
    int64_t even = ns / EVEN_NS;
    if (even < WAITS_EVEN)
        return even < 0 ? 0 : (int)even;
    int i = WAITS_EVEN;
    while (i < WAITS_BUCKETS - 1 && waits_bound(i + 1) <= (double)ns)
        i++;
    return i;
}

void waits_add(struct waits *w, int64_t ns) {
    if (w->count == 0 || ns < w->min_ns)
        w->min_ns = ns;
    if (w->count == 0 || ns > w->max_ns)
        w->max_ns = ns;
    w->count++;
    w->sum_ns += ns;
    w->bucket[bucket_of(ns)]++;
}

void waits_merge(struct waits *into, const struct waits *from) {
    if (from->count == 0)
        return;
    if (into->count == 0 || from->min_ns < into->min_ns)
        into->min_ns = from->min_ns;
    if (into->count == 0 || from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    for (int i = 0; i < WAITS_BUCKETS; i++)
        into->bucket[i] += from->bucket[i];
}

int64_t waits_quantile(const struct waits *w, double share) {
    double wanted = share * w->count, before = 0;
    for (int i = 0; i < WAITS_BUCKETS; i++) {
        double here = w->bucket[i];
        if (here > 0 && before + here >= wanted) {
            /* Values are taken to lie evenly in their bucket; the last bucket has no upper bound. */
            double low = waits_bound(i);
            double high = i < WAITS_BUCKETS - 1 ? waits_bound(i + 1) : (double)w->max_ns;
            int64_t ns = (int64_t)(low + (high - low) * (wanted - before) / here);
            return ns < w->min_ns ? w->min_ns : ns > w->max_ns ? w->max_ns : ns;
        }
        before += here;
    }
    return w->max_ns;
}

const char *duration_text(int64_t ns, char text[24]) {
    double ms = (double)ns / MS;
    char longer[NAME_ROOM];
    if (ms >= 100000)
        snprintf(text, 24, "%.23s", time_text((uint64_t)ns, true, longer));
    else if (ms < 10)
        snprintf(text, 24, "%.2f ms", ms);
    else if (ms < 1000)
        snprintf(text, 24, "%.1f ms", ms);
    else
        snprintf(text, 24, "%.2f s", ms / 1000);
    return text;
}
