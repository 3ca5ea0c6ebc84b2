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

static inline void spin_lock(uint32_t *lock) {
    self.depth++;
    self.spinning = lock;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t seen = lock_free_word();
    if (UNLIKELY(!REPLACE(lock, &seen, lock_taken_word(), __ATOMIC_ACQUIRE)))
        lock_slow(lock, seen);
}

/* Never waits: false when another thread has it. */
static inline bool spin_trylock(uint32_t *lock) {
    self.depth++;
    self.spinning = lock;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t seen = LOAD(lock);
    bool taken = (seen & 3) != 0 && seen >> 18 == fork_generation;
    if (!taken && REPLACE(lock, &seen, lock_taken_word(), __ATOMIC_ACQUIRE))
        return true;
    self.spinning = NULL;
    self.depth--;
    return false;
}

static inline void spin_unlock(uint32_t *lock) {
    lock_free(lock);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.spinning = NULL;
    self.depth--;
}

#endif
