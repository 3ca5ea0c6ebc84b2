/* SPDX-License-Identifier: MIT
 *
 * A lock for short lists (pools, totals) that are used when connections or threads
 * begin and end, never on the write path.  It works as a connection's lock: the word
 * carries the fork generation, so that a child never waits for a thread of its parent,
 * and a waiter sleeps.  self.depth counts it.
 */
#ifndef UNSTALL_SPIN_H
#define UNSTALL_SPIN_H

#include "lock.h"

static inline void spin_left(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.spinning = NULL;
    self.depth--;
}

/* False: the lock cannot be had (lock.h). */
__attribute__((warn_unused_result)) static inline bool spin_lock(uint32_t *lock) {
    thread_enters();
    self.spinning = lock;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t seen = lock_free_word();
    if (LIKELY(REPLACE(lock, &seen, lock_taken_word(), __ATOMIC_ACQUIRE)) ||
        lock_slow(lock, seen) != LOCK_MISSED)
        return true;
    spin_left();
    return false;
}

/* Never waits: false when another thread has it. */
static inline bool spin_trylock(uint32_t *lock) {
    thread_enters();
    self.spinning = lock;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t seen = LOAD(lock);
    bool taken = (seen & 3) != 0 && seen >> 18 == fork_generation;
    if (!taken && REPLACE(lock, &seen, lock_taken_word(), __ATOMIC_ACQUIRE))
        return true;
    spin_left();
    return false;
}

static inline void spin_unlock(uint32_t *lock) {
    lock_free(lock);
    spin_left();
}

#endif
