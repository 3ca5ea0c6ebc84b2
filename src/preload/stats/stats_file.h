/* SPDX-License-Identifier: MIT
 *
 * Makes, maps and closes the statistics file, and reserves its pages part by part.
 *
 * A page must be reserved before any access, even a read: a fault on a full file
 * system is SIGBUS in the host.  Reserved from the start: everything up to the
 * shards of row 0, the table of modules, and the head of each pattern.
 */
#ifndef UNSTALL_STATS_FILE_H
#define UNSTALL_STATS_FILE_H

#include "base.h"
#include "stats_format.h"

extern INTERNAL struct stats_file *stats_file_mapped;

/* The statistics file of this process, or NULL. */
static inline struct stats_file *stats_file_now(void) {
    return LOAD_ACQUIRE(&stats_file_mapped);
}

/* A new file PID-STARTED.unstall in `directory`, mapped, all zero; or NULL after
 * a warning.  No descriptor stays open.  Call with all signals blocked. */
struct stats_file *stats_file(const char *directory, uint64_t started_ns);

/* Reserve the pages of this part.  False: no room, or a seccomp filter forbids the call; the
 * caller must not touch them.  Uses MADV_POPULATE_WRITE (Linux 5.14); on older kernels the
 * whole file is reserved when it is made. */
bool stats_file_reserve(const void *part, size_t bytes);

#endif
