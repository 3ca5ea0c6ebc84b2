/* SPDX-License-Identifier: MIT
 *
 * The file of the statistics file: made, mapped, closed again, and reserved
 * piece by piece.
 *
 * Nobody may touch a page that is not reserved, not even to read it: a fault on a
 * file system that has become full is SIGBUS in the host.  Reserved from the
 * start: everything up to the shards of row 0, the table of modules, and the head
 * of each pattern.
 */
#ifndef UNSTALL_STATS_FILE_H
#define UNSTALL_STATS_FILE_H

#include "base.h"
#include "stats_format.h"

extern struct stats_file *stats_file_mapped;

/* The segment of this process, or NULL. */
static inline struct stats_file *stats_file_now(void) {
    return LOAD_ACQUIRE(&stats_file_mapped);
}

/* A new file PID-STARTED.unstall in `directory`, mapped, all zero; or NULL after
 * a warning.  No descriptor stays open.  Call with all signals blocked. */
struct stats_file *stats_file(const char *directory, uint64_t started_ns);

/* The pages of this part of the segment are there from now on.  False: no room, or
 * no call may be made (a filter): leave them alone.  MADV_POPULATE_WRITE, Linux
 * 5.14; before, the whole file was reserved when it was made. */
bool stats_file_reserve(const void *part, size_t bytes);

#endif
