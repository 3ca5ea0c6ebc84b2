/* SPDX-License-Identifier: MIT
 *
 * A lock for short lists that are touched at births and deaths only (pools,
 * totals), never on the write path of a connection.  The word carries the fork
 * generation, so a child never waits for a thread that it does not have.
 * Taking it counts in self.depth, as a connection's lock does.
 */
#ifndef UNSTALL_SPIN_H
#define UNSTALL_SPIN_H

#include "conn.h"
#include "raw.h"

static inline void spin_lock(uint32_t *lock) {
    self.depth++;
    self.spinning = lock;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    for (int i = 0;; i++) {
        uint32_t seen = LOAD(lock);
        bool taken = (seen & 3) != 0 && seen >> 18 == fork_generation;
        if (!taken && __atomic_compare_exchange_n(lock, &seen, lock_my_word() | 1, false,
                                                  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
        if (i > 64)
            raw0(SYS_sched_yield);
    }
}

/* Never waits: false when another thread has it. */
static inline bool spin_trylock(uint32_t *lock) {
    self.depth++;
    self.spinning = lock;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t seen = LOAD(lock);
    bool taken = (seen & 3) != 0 && seen >> 18 == fork_generation;
    if (!taken && __atomic_compare_exchange_n(lock, &seen, lock_my_word() | 1, false,
                                              __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return true;
    self.spinning = NULL;
    self.depth--;
    return false;
}

static inline void spin_unlock(uint32_t *lock) {
    __atomic_store_n(lock, lock_free_word(), __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.spinning = NULL;
    self.depth--;
}

#endif
