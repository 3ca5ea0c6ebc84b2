/* SPDX-License-Identifier: MIT
 *
 * A program in a cgroup of its own with the BPF programs of attach: its limits and its messages.
 */
#ifndef UNSTALL_CLI_IN_CGROUP_H
#define UNSTALL_CLI_IN_CGROUP_H

#include "launch.h"

/* Does a setting suit this way and not the supervisor? */
bool in_cgroup_suits_better(void);

/* Refuses what this way cannot do.  0, or the exit code and a complaint.  why: no preload alone. */
int in_cgroup_check(const struct launch *l, const char *why);

/* Moves this process there.  0, or the exit code and a complaint. */
int in_cgroup_begin(const struct launch *l, const char *why);

#endif
