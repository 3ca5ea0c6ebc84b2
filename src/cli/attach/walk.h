/* SPDX-License-Identifier: MIT
 *
 * Runs an iterator over the TCP sockets of every network namespace that a process of the target is in.  The
 * kernel's iterator sees only the namespace of its reader, so the caller enters each of them.
 */
#ifndef UNSTALL_ATTACH_WALK_H
#define UNSTALL_ATTACH_WALK_H

#include <sys/types.h>

#include "prose.h"

struct attach_scope {
    pid_t pid;          /* the target, if it is a process */
    const char *folder; /* its cgroup, otherwise */
};

/* `open_one` opens a descriptor for a new run, or returns -errno.  0 or -errno.  `missed` names the
 * namespaces of the target that could not be entered, and the processes whose namespace is not known (without
 * CAP_SYS_PTRACE, those of other users); "": none. */
int attach_walk(int (*open_one)(const void *), const void *with, const struct attach_scope *scope,
                struct prose *missed);

/* Reads a run of an iterator to its end.  0 or -errno. */
int attach_run_iterator(int fd);

#endif
