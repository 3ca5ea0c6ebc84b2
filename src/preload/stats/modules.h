/* SPDX-License-Identifier: MIT
 *
 * Writes the executable mappings of this process and the identity of their files into the
 * statistics file, for an unwinder that runs after the process has ended.  The source is
 * /proc/self/maps and the mappings: dl_iterate_phdr(3) would take a lock.
 */
#ifndef UNSTALL_MODULES_H
#define UNSTALL_MODULES_H

#include "base.h"
#include "stats_format.h"

/* Adds the mappings that the file lacks.  One thread at a time. */
void modules_note(struct stats_file *s);

/* One line of /proc/PID/maps. */
struct modules_line {
    uint64_t start, end, offset;
    bool executable;
    const char *path; /* to the end of the line; "" for none */
    size_t path_bytes;
};

bool modules_parse(const char *line, size_t bytes, struct modules_line *out);

#endif
