/* SPDX-License-Identifier: MIT
 *
 * A thread that libc does not know: made by clone(2) with a stack and
 * thread-local storage of our own.
 *
 * Reason: once libc knows a second thread, fork(2) takes malloc's lock (a handler that
 * forks while its program allocates then hangs), every write and read goes by the
 * slower path of a cancellation point, a signal that libc reserves must not be
 * blocked in the thread, and the process lives until libc's count of threads is zero.
 *
 * What runs on it calls no function of libc that keeps state (no malloc, no stdio, no
 * pthread_*): mem*, str* and system calls alone.  libc's setuid(2) and its like do not
 * reach it: such a call ends it first (process_wants_one_thread).
 *
 * Under a sanitizer's runtime, which must know each thread, it is made by pthread_create.
 */
#ifndef UNSTALL_RAW_THREAD_H
#define UNSTALL_RAW_THREAD_H

#include "base.h"

struct raw_thread {
    int id;       /* gettid(2) of it; the kernel clears it, and wakes, when it has ended */
    int known_id; /* the same, not cleared: for raw_thread_join() */
    int process;  /* whose it is */
    char *memory; /* guard page, stack, thread-local storage; kept for the next start */
    void *storage;       /* its thread pointer */
    void (*run)(void);   /* what it does; it ends when this returns */
    unsigned long joins; /* pthread_t, where libc made it */
    bool by_libc;
    bool after_fork; /* this process was made by fork */
};

/* Start it, all signals blocked; one before it must be about to end.  0 or -errno. */
int raw_thread_start(struct raw_thread *t, void (*run)(void));

/* Wait until it is no member of the thread group any more: unshare(CLONE_NEWUSER) fails
 * as long as it is. */
void raw_thread_join(struct raw_thread *t);

/* In the child of a fork: it is not here. */
void raw_thread_forked(struct raw_thread *t);

#endif
