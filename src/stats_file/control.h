/* SPDX-License-Identifier: MIT
 *
 * The control block of a segment: read by both sides, written by tools.
 *
 * A tool reads the block, changes what it wants and writes it back:
 *
 *     struct stats_control c;
 *     stats_control_read(&segment->control, &c);
 *     c.mode = STATS_MODE_OFF;
 *     stats_control_write(fd, &c);
 *
 * and may then wait until header.control_seen is what the write returned.
 */
#ifndef UNSTALL_STATS_FILE_CONTROL_H
#define UNSTALL_STATS_FILE_CONTROL_H

#include "stats_format.h"

enum {
    CONTROL_WEIGHT_MAX = 1000,
    CONTROL_WINDOW_MIN_US = 500,
    CONTROL_WINDOW_MAX_US = 100000,
};

/* A block is copied word by word, each by an atomic access of its own. */
typedef uint64_t __attribute__((may_alias)) control_word;

enum { CONTROL_WORDS = sizeof(struct stats_control) / sizeof(control_word) };

/* One consistent copy.  0, or -EAGAIN: somebody is writing (or died at it). */
int stats_control_read(const struct stats_control *block, struct stats_control *copy);

/* What is wrong with a block, in a few words, or NULL. */
const char *stats_control_wrong(const struct stats_control *c);

/* Write everything of `c` but its sequence into the segment that `fd` (open for
 * reading and writing) leads to, under flock(2).  The new sequence (> 0), or
 * -errno: -EINVAL: `c` or the file is no such thing; -EWOULDBLOCK: another tool
 * has kept the lock for a second.  In control_write.c, for tools alone. */
int64_t stats_control_write(int fd, const struct stats_control *c);

#endif
