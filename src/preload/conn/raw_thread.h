/* SPDX-License-Identifier: MIT
 *
 * A thread that libc does not know: made by clone(2) with a stack and thread-local storage of our own.
 *
 * Reason: once libc knows a second thread, fork(2) takes malloc's lock (a handler that forks while its
 * program allocates then hangs), every write and read goes by the slower path of a cancellation point, a
 * signal that libc reserves must not be blocked in the thread, and the process lives until libc's count of
 * threads is zero.
 *
 * Its code calls no function of libc that keeps state (no malloc, no stdio, no pthread_*), only mem*, str*
 * and system calls.  libc's setuid(2) and similar calls cannot change its ids, therefore they end it first
 * (process.c).
 *
 * A sanitizer's runtime must know each thread: with one, pthread_create makes the thread, detached.
 */
#ifndef UNSTALL_RAW_THREAD_H
#define UNSTALL_RAW_THREAD_H

#include "base.h"

struct raw_thread {
    int id;              /* its gettid(2); at its end the kernel clears this and wakes waiters */
    int known_id;        /* the same, not cleared: for raw_thread_join() */
    int process;         /* its process */
    char *memory;        /* guard page, stack, thread-local storage; kept for the next start */
    void *storage;       /* its thread pointer */
    void (*run)(void);   /* the thread ends when this returns */
    bool after_fork; /* this process was made by fork */
};

/* Starts the thread with all signals blocked.  An earlier one must be about to end.  0 or -errno; -EBUSY:
 * the earlier one has not ended, or the program is inside pthread_create (raw_thread_program_creates); try
 * again later. */
int raw_thread_start(struct raw_thread *t, void (*run)(void));

/* Wait until the thread has left the thread group: unshare(CLONE_NEWUSER) fails before that.  At most
 * 150 ms: the thread, too, may be stopped. */
void raw_thread_join(struct raw_thread *t);

/* False: a thread that was started still runs. */
bool raw_thread_is_gone(const struct raw_thread *t);

/* The program enters or leaves pthread_create(3) or thrd_create(3).  A sanitizer's allocator may hold
 * its lock then, and a signal handler that interrupts it must not make libc allocate. */
void raw_thread_program_creates(void);
void raw_thread_program_created(void);

/* In the child of a fork, which lacks the thread. */
void raw_thread_forked(struct raw_thread *t);

#endif
