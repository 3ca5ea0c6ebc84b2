/* SPDX-License-Identifier: MIT
 *
 * The executable mappings of this process, with their build ids, into the
 * segment: what an unwinder needs when the process is gone.  Read from
 * /proc/self/maps and from the mapped ELF headers: no dl_iterate_phdr, which
 * locks, and no malloc.
 */
#ifndef UNSTALL_MODULES_H
#define UNSTALL_MODULES_H

#include "base.h"
#include "segment.h"

/* Those that are not there yet.  One thread at a time. */
void modules_note(struct segment *s);

/* One line of /proc/PID/maps. */
struct modules_line {
    uint64_t start, end, offset;
    bool executable;
    const char *path; /* to the end of the line; "" for none */
    size_t path_bytes;
};

bool modules_parse(const char *line, size_t bytes, struct modules_line *out);

/* The build id in the notes of an ELF file (PT_NOTE): its length, or 0. */
uint32_t modules_build_id(const uint8_t *notes, size_t bytes, size_t align,
                          uint8_t id[SEGMENT_BUILD_ID]);

#endif
