/* SPDX-License-Identifier: MIT
 *
 * Tools write the control block of a statistics file.
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
#ifndef UNSTALL_STATS_FILE_CONTROL_WRITE_H
#define UNSTALL_STATS_FILE_CONTROL_WRITE_H

#include "control.h"

/* Writes everything of `c` but its sequence into the statistics file `fd` (open for reading and writing),
 * under flock(2).  The new sequence (> 0), or -errno.  -EINVAL: `c` or the file is invalid.  -EWOULDBLOCK:
 * another tool has kept the lock for a second. */
int64_t stats_control_write(int fd, const struct stats_control *c);

#endif
