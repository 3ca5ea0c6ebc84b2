/* SPDX-License-Identifier: MIT
 *
 * The folder of a cgroup that was made for one program.
 */
#ifndef UNSTALL_ATTACH_OWN_FOLDER_H
#define UNSTALL_ATTACH_OWN_FOLDER_H

#include <sys/types.h>

/* Moves a process to a cgroup.  0 or -errno. */
int own_folder_move(const char *cgroup, pid_t pid);

/* Moves its processes to the cgroup above it, and removes it.  0, also if it is gone, or -errno. */
int own_folder_remove(const char *path);

#endif
