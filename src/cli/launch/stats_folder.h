/* SPDX-License-Identifier: MIT
 *
 * Folders in which programs that this command starts keep statistics.
 *
 * Old statistics take memory until somebody removes them.  Each process leaves its file, some 200 KB on
 * tmpfs.  Where a program is started with statistics, the files that ended processes have left there go:
 * after a week, and the oldest first where all take more than 64 MB.  A file goes only if it is a statistics
 * file of the caller whose process has recorded its end, so that the file of a process that lives, or was
 * killed, stays, also of one in another PID namespace.
 */
#ifndef UNSTALL_CLI_STATS_FOLDER_H
#define UNSTALL_CLI_STATS_FOLDER_H

#include <stddef.h>

/* Removes such files from a folder, and says so in one line. */
void stats_prune(const char *folder);

/* The folder in memory in which `unstall observe` keeps the statistics of a running program: makes a new one
 * on tmpfs with mode 0700, which has a lock as long as this process lives.  0, or EXIT_OWN and a complaint.
 * Beside it, the folders that observes have left which were killed are removed. */
int observe_folder_make(char *path, size_t size);

/* Removes the folder and its statistics files; any other file stays, and the folder with it. */
void observe_folder_remove(const char *path);

#endif
