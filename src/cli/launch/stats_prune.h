/* SPDX-License-Identifier: MIT
 *
 * Old statistics take memory until somebody removes them.
 *
 * Each process leaves its file, some 200 KB on tmpfs.  Where a program is started with statistics, the files
 * that ended processes have left there go: after a week, and the oldest first where all take more than 64 MB.
 * A file goes only if it is a statistics file of the caller whose process has recorded its end, so that the
 * file of a process that lives, or was killed, stays, also of one in another PID namespace.
 */
#ifndef UNSTALL_CLI_STATS_PRUNE_H
#define UNSTALL_CLI_STATS_PRUNE_H

#include <stdbool.h>

/* Removes such files from a folder, and says so in one line. */
void stats_prune(const char *folder);

/* True if this is a statistics file that no process of this machine writes to any more. */
bool stats_is_left(const char *path);

#endif
