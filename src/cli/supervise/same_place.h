/* SPDX-License-Identifier: MIT
 *
 * Tells whether a socket made by the supervisor equals one made by the program.
 */
#ifndef UNSTALL_SUPERVISE_SAME_PLACE_H
#define UNSTALL_SUPERVISE_SAME_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

/* True if task and supervisor have the same network and user namespace, user, group, cgroup and security
 * label, which a socket takes from its creator.  False if /proc cannot be read. */
bool same_place(pid_t task);

#endif
