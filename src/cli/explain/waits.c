/* SPDX-License-Identifier: MIT */
#include "waits.h"

#include <stdio.h>
#include <string.h>

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

/* ---- when ------------------------------------------------------------- */

/* Parts of twice the length.  They begin at multiples of their length, so two old ones make a new one. */
static void widen(struct timeline *t) {
    struct timeline wide = {.part_ns = t->part_ns * 2, .first = t->first / 2};
    for (int i = 0; i < TIMELINE_PARTS; i++) {
        wide.stalled[(t->first + i) / 2 - wide.first] += t->stalled[i];
        wide.other[(t->first + i) / 2 - wide.first] += t->other[i];
    }
    *t = wide;
}

size_t timeline_used(const struct timeline *t) {
    size_t count = TIMELINE_PARTS;
    while (count > 0 && !t->stalled[count - 1] && !t->other[count - 1])
        count--;
    return count;
}

static void shift(uint32_t *parts, size_t count, size_t by) {
    memmove(parts + by, parts, count * sizeof(*parts));
    memset(parts, 0, by * sizeof(*parts));
}

/* Moves the parts so that `earlier` is the first one, if the parts in use still fit then. */
static void move(struct timeline *t, int64_t earlier) {
    int64_t by = t->first - earlier;
    size_t used = timeline_used(t);
    if (by > TIMELINE_PARTS - (int64_t)used) {
        widen(t);
        return;
    }
    shift(t->stalled, used, (size_t)by);
    shift(t->other, used, (size_t)by);
    t->first = earlier;
}

void timeline_add(struct timeline *t, int64_t at_ns, uint32_t stalled, uint32_t other) {
    if (at_ns < 0)
        at_ns = 0;
    if (!t->part_ns) {
        t->part_ns = MS;
        t->first = at_ns / MS;
    }
    for (;;) {
        int64_t part = at_ns / t->part_ns - t->first;
        if (part >= TIMELINE_PARTS) {
            widen(t);
        } else if (part < 0) {
            move(t, at_ns / t->part_ns);
        } else {
            t->stalled[part] += stalled;
            t->other[part] += other;
            return;
        }
    }
}

void timeline_merge(struct timeline *into, const struct timeline *from) {
    for (int i = 0; i < TIMELINE_PARTS; i++)
        if (from->stalled[i] || from->other[i])
            timeline_add(into, (from->first + i) * from->part_ns, from->stalled[i], from->other[i]);
}

/* ---- words ------------------------------------------------------------ */

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
