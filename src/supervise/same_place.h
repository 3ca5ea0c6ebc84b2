/* SPDX-License-Identifier: MIT
 *
 * Is a socket that the supervisor makes like one that the program makes?
 */
#ifndef UNSTALL_SUPERVISE_SAME_PLACE_H
#define UNSTALL_SUPERVISE_SAME_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

/* True if task and supervisor have the same network and user namespace, user, group, cgroup and security
 * label: what a socket takes from its creator.  False if /proc does not tell. */
bool same_place(pid_t task);

#endif
