/* SPDX-License-Identifier: MIT
 *
 * A program in a cgroup of its own with the BPF programs of attach: its limits and its messages.
 */
#ifndef UNSTALL_CLI_IN_CGROUP_H
#define UNSTALL_CLI_IN_CGROUP_H

#include "launch.h"

/* True if a setting works in a cgroup and not under the supervisor. */
bool in_cgroup_suits_better(void);

/* Refuses settings that do not work in a cgroup.  0, or the exit code and a complaint.  `why`: the reason
 * against a preload, or "it was asked for". */
int in_cgroup_check(const struct launch *l, const char *why);

/* Moves this process there.  0, or the exit code and a complaint. */
int in_cgroup_begin(const struct launch *l, const char *why);

#endif
