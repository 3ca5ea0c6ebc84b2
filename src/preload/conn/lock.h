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

/* The generation of this process among its forks. */
extern uint32_t fork_generation;

/* Takes a lock that was not free; true: it was taken before the fork that made this process. */
bool lock_slow(uint32_t *lock, uint32_t seen);
void lock_wake(uint32_t *lock);

/* A lock's word: fork generation << 18 | tag of the holder << 2 | 0 free, 1 taken,
 * 2 taken and waited for.  The tag is part of the word so that it is known, at
 * every instruction, whether this thread holds it: a handler may jump away.
 *
 * A waiter tries for a moment and then sleeps, so that a holder of lower priority
 * runs on (one that yields keeps it from running for ever under SCHED_FIFO).  The
 * holder does not inherit the waiter's priority: nor does it inside the kernel's
 * lock of the same socket, in which it spends ten times as long. */
static inline uint32_t lock_free_word(void) {
    return fork_generation << 18;
}

static inline uint32_t lock_my_word(void) {
    return fork_generation << 18 | thread_tag() << 2;
}

static inline bool lock_is_mine(const uint32_t *lock) {
    uint32_t word = LOAD(lock);
    return (word & 3) != 0 && (word & ~UINT32_C(3)) == lock_my_word();
}

static inline void lock_free(uint32_t *lock) {
    uint32_t before = __atomic_exchange_n(lock, lock_free_word(), __ATOMIC_SEQ_CST);
    if (UNLIKELY((before & 3) == 2))
        lock_wake(lock);
}

#endif
