/* SPDX-License-Identifier: MIT */
#include "lock.h"

#include <linux/futex.h>

#include "raw.h"

enum { FIRST_GENERATION = 1 };

uint32_t fork_generation = FIRST_GENERATION;
uint32_t lock_free_now = FIRST_GENERATION << 18;

void lock_forked(void) {
    fork_generation = (fork_generation + 1) & 0x3fff;
    lock_free_now = fork_generation << 18;
}

void lock_bits_new(void) {
    lock_bits_make();
    thread_may_lock();
}

enum { SPINS = 64 };

/* A handler may fork during a wait.  Its child returns into the wait for a lock that is not held there.  So a
 * waiter checks whether it is a child, and sleeps with a timeout, because futex(2) then ends with EINTR, also
 * under SA_RESTART. */
bool lock_slow(uint32_t *lock, uint32_t seen) {
    static const struct timespec patience = {.tv_sec = 1};
    for (int i = 0;; i++) {
        if (UNLIKELY(i >= SPINS && *LOAD(&gate) != GATE_OPEN))
            gate_slow();
        const uint32_t mine = lock_my_word();
        if (seen >> 18 != fork_generation) {
            if (REPLACE(lock, &seen, mine | 1, __ATOMIC_ACQUIRE))
                return true;
        } else if ((seen & 3) == 0) {
            /* after a sleep: other threads may sleep too, so take it as "waited for" */
            if (REPLACE(lock, &seen, mine | (i < SPINS ? 1 : 2), __ATOMIC_ACQUIRE))
                return false;
        } else if (i < SPINS) {
            relax();
            seen = LOAD(lock);
        } else {
            uint32_t waited_for = (seen & ~UINT32_C(3)) | 2;
            if (seen != waited_for && !REPLACE(lock, &seen, waited_for, __ATOMIC_RELAXED))
                continue;
            raw4(SYS_futex, lock, FUTEX_WAIT_PRIVATE, waited_for, &patience);
            seen = LOAD(lock);
        }
    }
}

void lock_wake(uint32_t *lock) {
    raw3(SYS_futex, lock, FUTEX_WAKE_PRIVATE, 1);
}
