/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include <string.h>

#include "waits.h"

/* Parts of twice the length.  They begin at multiples of their length, so two old ones make a new one. */
static void widen(struct timeline *t) {
    struct timeline wide = {.part_ns = t->part_ns * 2, .first = t->first / 2};
    for (int i = 0; i < TIMELINE_PARTS; i++)
        wide.part[(t->first + i) / 2 - wide.first] += t->part[i];
    *t = wide;
}

/* Moves the parts so that `earlier` is the first one, if the parts in use still fit then. */
static void move(struct timeline *t, int64_t earlier) {
    int64_t by = t->first - earlier;
    int last = TIMELINE_PARTS - 1;
    while (last > 0 && !t->part[last])
        last--;
    if (last + by >= TIMELINE_PARTS) {
        widen(t);
        return;
    }
    memmove(&t->part[by], &t->part[0], (size_t)(last + 1) * sizeof(t->part[0]));
    memset(&t->part[0], 0, (size_t)by * sizeof(t->part[0]));
    t->first = earlier;
}

void timeline_add(struct timeline *t, int64_t at_ns, uint32_t n) {
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
            t->part[part] += n;
            return;
        }
    }
}

void timeline_merge(struct timeline *into, const struct timeline *from) {
    for (int i = 0; i < TIMELINE_PARTS; i++)
        if (from->part[i])
            timeline_add(into, (from->first + i) * from->part_ns, from->part[i]);
}
