/* SPDX-License-Identifier: MIT
 *
 * Runs an iterator over the TCP sockets of every network namespace that a process is in: the
 * kernel's iterator sees those of its reader's namespace only.
 */
#ifndef UNSTALL_ATTACH_WALK_H
#define UNSTALL_ATTACH_WALK_H

#include <sys/types.h>

struct attach_scope {
    pid_t pid;          /* the target, if it is a process */
    const char *folder; /* its cgroup, otherwise */
};

/* `open_one` gives a descriptor of a new run, or -errno.  How many processes of the target are in
 * a namespace that could not be entered, or -errno. */
int attach_walk(int (*open_one)(const void *), const void *with, const struct attach_scope *scope);

/* Reads a run of an iterator to its end.  0 or -errno. */
int attach_run_iterator(int fd);

#endif
