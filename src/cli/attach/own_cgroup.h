/* SPDX-License-Identifier: MIT
 *
 * A cgroup of its own for this process, which is about to become a program, with an attachment.
 *
 * A guard, which is no child of the program, makes the cgroup, attaches, moves this process into
 * it, and waits until the last process of the cgroup has ended.  Then it restores the options of
 * sockets that still exist, and removes the pins and the cgroup.  If the guard is killed, the cure stays:
 * `unstall attach --list` shows its name, and `unstall detach` removes it.
 */
#ifndef UNSTALL_ATTACH_OWN_CGROUP_H
#define UNSTALL_ATTACH_OWN_CGROUP_H

#include "attach.h"

/* 0, and the name of the attachment; or -errno with a sentence, and this process is in its old cgroup. */
int own_cgroup_begin(const struct attach_options *o, uint16_t port, char name[ATTACH_NAME],
                     char error[ATTACH_ERROR]);

#endif
