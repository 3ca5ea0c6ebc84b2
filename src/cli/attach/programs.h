/* SPDX-License-Identifier: MIT
 *
 * The BPF programs of an attachment: loads and pins them, and runs their iterators over the existing sockets.
 *
 * All functions return 0 or -errno.
 */
#ifndef UNSTALL_ATTACH_PROGRAMS_H
#define UNSTALL_ATTACH_PROGRAMS_H

#include "prose.h"
#include "target.h"

struct attach_bpf; /* of the skeleton */

/* Whether stderr shows what libbpf and the kernel's verifier say. */
void programs_show_log(bool shown);

/* Also after an error, programs_free(*opened). */
int programs_load(struct attach_bpf **opened, const struct attach_config *c);
void programs_free(struct attach_bpf *b);

int programs_pin_config(const struct attach_bpf *b, const char *name);

/* Pins all the rest, and takes in the sockets that exist.  `missed`: as of attach_walk(). */
int programs_begin(struct attach_bpf *b, const struct attach_target *t, bool experiment,
                   struct prose *missed);

/* A walk runs an iterator over the TCP sockets of every network namespace that a process of the target is
 * in.  The kernel's iterator sees only the namespace of its reader, so the caller enters each of them. */
struct attach_scope {
    pid_t pid;          /* the target, if it is a process */
    const char *folder; /* its cgroup, otherwise */
};

/* `open_one` opens a descriptor for a new run, or returns -errno.  0 or -errno.  `missed` names the
 * namespaces of the target that could not be entered, and the processes whose namespace is not known (without
 * CAP_SYS_PTRACE, those of other users); "": none. */
int attach_walk(int (*open_one)(const void *), const void *with, const struct attach_scope *scope,
                struct prose *missed);

/* Loads the walk `restore` anew over the record of the sockets, where its pin was removed. */
int programs_pin_restore_again(const char *name);

#endif
