/* SPDX-License-Identifier: MIT
 *
 * The word of a lock, for connections (conn.h) and for short lists (spin.h).
 *
 * A thread may be stopped anywhere: by a signal's handler that waits, a debugger, a priority, a cgroup's
 * freezer.  So no call waits without a bound for another thread: it waits 200 ms at most (lock_slow()), and
 * then the lock cannot be had.  That is the same for a handler that has interrupted its own thread's lock.
 * What then becomes of the call is one protocol (reentry.h).
 *
 * These calls wait without a bound, because bare they would, too: a blocking write behind another thread's
 * blocking write of buffered bytes (shim_drain()), and any call for room in the kernel.
 *
 * A system call under a lock makes it more likely that a thread is stopped there.  These are made under one:
 *   - the send of buffered bytes: its order with other threads' writes is the lock's;
 *   - SO_COOKIE before it, and at the first byte: it tells whether the number is still the socket;
 *   - TCP_NODELAY: after an unlock it could overtake another thread's hold_restore(), and stay set for the
 *     program of a child;
 *   - the questions for MSS, options, addresses and room, once a connection, and TCP_INFO: their answers are
 *     about the number that the decision is about, and that another thread may close;
 *   - what ends a connection: SO_LINGER and the copy of its last descriptor, while bytes are buffered;
 *   - mmap(2) for a list that has run empty, MADV_POPULATE_WRITE for rows of the statistics;
 *   - clone(2) under the lock of the window's thread, of which there is one at most.
 *
 * Fork: the word carries the fork generation; a word of an older generation is a lock
 * that some thread of the parent may have held, and is taken.
 */
#ifndef UNSTALL_LOCK_H
#define UNSTALL_LOCK_H

#include "base.h"
#include "thread.h"

/* Grows by one in the child of each fork, by lock_forked(). */
extern INTERNAL uint32_t fork_generation;
/* The word of a lock that is free: see below. */
extern INTERNAL uint32_t lock_free_now;
void lock_forked(void);

enum { LOCK_PATIENCE_NS = 200000000 };

/* Takes a lock that was not free, if it can be had. */
enum lock_slow { LOCK_MISSED, LOCK_TAKEN, LOCK_OF_PARENT /* before the fork that made this process */ };
enum lock_slow lock_slow(uint32_t *lock, uint32_t seen);
void lock_wake(uint32_t *lock);

/* A lock's word: fork generation << 18 | tag of the holder << 2 | 0 free, 1 taken,
 * 2 taken and waited for.  The word contains the tag, so that at every instruction
 * it tells whether this thread is the holder: a handler may jump away.
 *
 * A waiter spins briefly and then sleeps, so that a holder of lower priority can run.
 * Under SCHED_FIFO a waiter that only yields would block the holder for ever.  The
 * holder does not inherit the waiter's priority; the kernel's own lock of the same
 * socket does not pass it on either, and the holder spends ten times as long there. */
static inline uint32_t lock_free_word(void) {
    return lock_free_now;
}

static inline uint32_t lock_my_word(void) {
    return fork_generation << 18 | thread_tag() << 2;
}

/* This thread's first lock: makes its bits, and has its end watched. */
void lock_bits_new(void);
/* The bits alone. */
static inline void lock_bits_make(void) {
    self.lock_bits = thread_tag() << 2 | 1;
}

static inline void lock_needs_bits(void) {
    if (UNLIKELY(self.lock_bits == 0))
        lock_bits_new();
}

/* The word of a lock that this thread takes.  A thread keeps its own bits only: after a fork that passed by
 * the library, another thread of the child may be the first to notice it. */
static inline uint32_t lock_taken_word(void) {
    lock_needs_bits();
    return lock_free_word() | self.lock_bits;
}

static inline bool lock_is_mine(const uint32_t *lock) {
    uint32_t word = LOAD(lock);
    return (word & 3) != 0 && (word & ~UINT32_C(3)) == lock_my_word();
}

static inline void lock_free(uint32_t *lock) {
    uint32_t before = __atomic_exchange_n(lock, lock_free_word(), __ATOMIC_SEQ_CST);
    if (UNLIKELY(before & 2))
        lock_wake(lock);
}

#endif
