/* SPDX-License-Identifier: MIT
 *
 * The word of a lock, for connections (conn.h) and for short lists (spin.h).
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

/* Takes a lock that was not free; true: it was taken before the fork that made this process. */
bool lock_slow(uint32_t *lock, uint32_t seen);
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
