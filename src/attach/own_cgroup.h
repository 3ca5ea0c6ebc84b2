/* SPDX-License-Identifier: MIT
 *
 * A cgroup of its own for this process, which is about to become a program, with an attachment.
 *
 * A guard, which is no child of the program, makes the cgroup, attaches, moves this process into
 * it, and waits until the last process of the cgroup has ended.  Then it puts back sockets that
 * outlive them, and removes pins and cgroup.  If the guard is killed, all of it stays and works on:
 * `unstall attach --list` has the name, and `unstall detach` removes it.
 */
#ifndef UNSTALL_ATTACH_OWN_CGROUP_H
#define UNSTALL_ATTACH_OWN_CGROUP_H

#include "attach.h"

/* 0, or -errno with a sentence; then this process is where it was.  name: of the attachment. */
int own_cgroup_begin(const struct attach_options *o, uint16_t port, char name[ATTACH_NAME],
                     char error[ATTACH_ERROR]);

#endif
