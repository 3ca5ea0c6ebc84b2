/* SPDX-License-Identifier: MIT
 *
 * When exchanges stalled and when they did not: counts in parts of equal length, in constant memory.  The
 * parts grow with the time that they must cover.  Pure.
 */
#ifndef UNSTALL_CLI_TIMELINE_H
#define UNSTALL_CLI_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

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

#endif
