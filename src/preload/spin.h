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
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    for (int i = 0;; i++) {
        uint32_t seen = LOAD(lock);
        uint32_t taken = fork_generation << 1 | 1;
        if (seen != taken && __atomic_compare_exchange_n(lock, &seen, taken, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            self.spinning = lock;
            return;
        }
        if (i > 64)
            raw0(SYS_sched_yield);
    }
}

static inline void spin_unlock(uint32_t *lock) {
    self.spinning = NULL;
    __atomic_store_n(lock, fork_generation << 1, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.depth--;
}

#endif
