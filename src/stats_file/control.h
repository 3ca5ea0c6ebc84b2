/* SPDX-License-Identifier: MIT
 *
 * The control block of a statistics file: the library and the command read it, tools write it.
 *
 * A tool reads the block, changes members and writes it back:
 *
 *     struct stats_control c;
 *     stats_control_read(&stats_file->control, &c);
 *     c.mode = STATS_MODE_OFF;
 *     int64_t sequence = stats_control_write(fd, &c);
 *
 * The library has adopted the change when header.control_seen is this sequence.
 */
#ifndef UNSTALL_STATS_FILE_CONTROL_H
#define UNSTALL_STATS_FILE_CONTROL_H

#include "stats_format.h"

enum {
    ARM_WEIGHT_MAX = 1000,
    WINDOW_MIN_US = 500, /* a thread keeps no shorter one: docs/kernel.md, "A thread that ends a window" */
    WINDOW_MAX_US = 100000,
};

/* A block is copied word by word, each word by one atomic access. */
typedef uint64_t __attribute__((may_alias)) control_word;

enum { CONTROL_WORDS = sizeof(struct stats_control) / sizeof(control_word) };

/* Takes a consistent copy.  0, or -EAGAIN: a tool is writing, or has died while it wrote. */
int stats_control_read(const struct stats_control *block, struct stats_control *copy);

/* The reason why a block is invalid, in a few words, or NULL. */
const char *stats_control_wrong(const struct stats_control *c);

/* Writes everything of `c` but its sequence into the statistics file `fd` (open for reading and writing),
 * under flock(2).  The new sequence (> 0), or -errno.  -EINVAL: `c` or the file is invalid.  -EWOULDBLOCK:
 * another tool has kept the lock for a second.  In control_write.c, for tools only. */
int64_t stats_control_write(int fd, const struct stats_control *c);

#endif
