/* SPDX-License-Identifier: MIT
 *
 * A seccomp supervisor: it cures programs that a preload cannot reach, without a privilege.
 *
 * A filter stops the calls connect, listen, socket (TCP), setsockopt (TCP_NODELAY) and io_uring_setup of
 * the program and of all programs that it starts, until the supervisor has answered.  No call that reads or
 * writes is stopped.  The supervisor takes a copy of the descriptor (pidfd_getfd(2)), sets TCP_NODELAY on
 * it, and lets the kernel make the call.  An accepted connection has its listener's TCP_NODELAY.  It
 * answers the program's own setsockopt of TCP_NODELAY by success, so that TCP_NODELAY stays on.
 *
 * It reads no memory of the program and follows none of its pointers.  In doubt it lets the call go on as
 * it is.
 *
 *   unstall run (becomes the program)       guard ------------------ worker
 *     fork ------------------------------->  holds the listener too   answers the calls
 *     filter, listener ------------------->  starts a new worker      becomes the guard
 *     exec                                   if it is killed          if that is killed
 *
 * Both are no children of the program and have a session of their own: they get no signal of its terminal.
 * They end when the last process with the filter has ended.  If both are killed at the same time, the kernel
 * answers the filtered calls with ENOSYS: a process never hangs, but can make no connection.
 */
#ifndef UNSTALL_SUPERVISE_H
#define UNSTALL_SUPERVISE_H

#include <stdbool.h>

enum {
    SUPERVISE_LEAST_MAJOR = 5, /* Linux 5.9: the listener shows that the last process has ended */
    SUPERVISE_LEAST_MINOR = 9,
};

/* Puts this process, which is about to become the program, under a new supervisor.
 *
 * `privileges_matter`: do not set no_new_privs, because the program gains rights by its file.
 * *no_new_privs: it was set, because the kernel installs no filter without it (or CAP_SYS_ADMIN).
 * *blind: the supervisor may copy no descriptor, so the program's own TCP_NODELAY wins (guards.h).
 *
 * 0, or -errno: -EOPNOTSUPP this build has none, -ENOSYS the kernel, -EBUSY another supervisor has this
 * process already, -EACCES only with no_new_privs.  After an error no filter is installed. */
int supervise_begin(bool privileges_matter, bool *no_new_privs, bool *blind);

#endif
