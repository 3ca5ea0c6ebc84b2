/* SPDX-License-Identifier: MIT
 *
 * Pictures of a page: how long things took, on a logarithmic axis, and when they happened.
 */
#ifndef UNSTALL_CLI_CHART_H
#define UNSTALL_CLI_CHART_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct chart_bin {
    double low_ns, high_ns;
    uint64_t count;
};

/* The distribution of times; bins in their order, `low_ns` above 0.  A line marks 40 ms.  Nothing is written
 * if no bin has a count. */
void chart_distribution(FILE *out, const struct chart_bin *bins, size_t count, const char *caption);

/* The number of exchanges in each of `count` parts of the time, each `part_ns` long, and the last one perhaps
 * shorter: they last `whole_ns`.  Those that stalled are filled, and the others are outlines on them.  Writes
 * nothing if all are zero. */
void chart_timeline(FILE *out, const uint32_t *stalled, const uint32_t *other, size_t count,
                    int64_t part_ns, int64_t whole_ns, const char *caption);

#endif
