/* SPDX-License-Identifier: MIT
 *
 * The processes of a cgroup.
 */
#ifndef UNSTALL_CLI_CGROUP_PIDS_H
#define UNSTALL_CLI_CGROUP_PIDS_H

#include <stddef.h>
#include <sys/types.h>

enum { CGROUP_PIDS = 4096 };

struct cgroup_pids {
    pid_t list[CGROUP_PIDS]; /* the first ones, if there are more */
    size_t count;
};

/* Those of the cgroup with this folder, and of all below it; none if there is no such folder. */
void cgroup_pids(const char *folder, struct cgroup_pids *found);

#endif
