/* SPDX-License-Identifier: MIT
 *
 * What is pinned of attachments, each in a folder below ATTACH_FOLDER: the names of the pins, and whose the
 * folder of all may be, and its lock.
 *
 * An attachment looks at the others and then makes its own pin.  Under the lock no other one begins in
 * between.
 *
 * Where all users may write to the BPF file system (mode 1777, its default), any user may make the folder
 * first.  Its owner could hold the lock for ever, and remove what is pinned.  So a folder counts only if it
 * is root's or the caller's, and closed to all others.  The file system is sticky: no other user can replace
 * such a folder.
 *
 * The lock is one of flock(2) on the folder, which only its owner may open: the kernel ends it with the
 * process.  The folder is made and removed under the lock only, so that no process locks a folder that is
 * gone.
 */
#ifndef UNSTALL_ATTACH_PINS_H
#define UNSTALL_ATTACH_PINS_H

#include "prose.h"
#include "target.h"

/* In the order in which they are made; those of an experiment are from PIN_CONNECTIONS to PIN_STATE. */
enum pin {
    PIN_CONFIG,  /* a map */
    PIN_SOCKETS, /* a map */
    PIN_RESTORE, /* reading it puts all sockets of the namespace back */
    PIN_SET,     /* setsockopt(2) */
    PIN_GET,
    PIN_CONNECTIONS, /* a map */
    PIN_ARMS,        /* likewise */
    PIN_SENT,        /* its tracepoints */
    PIN_RECEIVED,
    PIN_DATA,
    PIN_STATE,
    PIN_EVENTS,
    PIN_CREATE,
    PIN_FOLDER, /* the folder of all these */
};

enum { PIN_PATH = 160 };

void attach_pin_path(const char *name, enum pin pin, char path[PIN_PATH]);

/* A descriptor of what is pinned, or -errno. */
int attach_pin_open(const char *name, enum pin pin);

/* Makes the folder, and waits.  Its descriptor, or -errno with a sentence; -EINTR: a signal came. */
int pins_lock(char error[ATTACH_ERROR]);

/* Removes the folder if nothing is pinned.  An error of pins_lock() does nothing. */
void pins_unlock(int lock);

/* ---- in kernel.c ---- */

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

/* Loads the walk `restore` anew over the record of the sockets, where its pin was removed.  0 or -errno. */
int attach_pin_restore_again(const char *name);

#endif
