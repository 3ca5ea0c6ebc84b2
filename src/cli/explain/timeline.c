/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include <string.h>

#include "waits.h"

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
