/* SPDX-License-Identifier: MIT
 *
 * The lock that was not free at once: 64 looks, then sleeps in a futex, 200 ms in all for a thread, and
 * then the caller does without (lock.h, reentry.h).
 */
#include "lock.h"

#include <linux/futex.h>

#include "clock.h"

/* ---- a thread's state --------------------------------------------------- */

_Thread_local struct thread self;
_Static_assert(offsetof(struct thread, turn) == 0, "jump.S reads it");

static const volatile uint8_t shut = GATE_SHUT;
const volatile uint8_t *gate = &shut;

uint32_t thread_tag_new(void) {
    static uint32_t last;
    do
        self.tag = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) & 0xffff;
    while (self.tag == 0);
    return self.tag;
}

/* ---- the lock ----------------------------------------------------------- */

enum { FIRST_GENERATION = 1 };

uint32_t fork_generation = FIRST_GENERATION;
uint32_t lock_free_now = FIRST_GENERATION << 18;

void lock_forked(void) {
    fork_generation = (fork_generation + 1) & 0x3fff;
    lock_free_now = fork_generation << 18;
}

enum { SPINS = 64, LEAST_NS = 20000 /* that a sleep counts at least */ };
#define A_TENTH UINT64_C(10)

/* A thread waits 200 ms in a row at most, and then a tenth of its time: `wait_debt` is ten times what it has
 * waited, and melts as time goes by.  So all waits of a call together are bounded, those of a walk over a
 * thousand locks, too, and no call needs to say where it begins. */
static uint64_t patience(uint64_t now) {
    uint64_t debt = self.wait_debt > now ? self.wait_debt - now : 0;
    return debt < A_TENTH * LOCK_PATIENCE_NS ? LOCK_PATIENCE_NS - debt / A_TENTH : 0;
}

static void has_waited(uint64_t since, uint64_t ns) {
    self.wait_debt = (self.wait_debt > since ? self.wait_debt : since) + A_TENTH * ns;
}

/* Sleeps while the word is `seen`, at most `ns`.  Returns the time that it counts. */
static uint64_t sleep_at(uint32_t *lock, uint32_t seen, uint64_t ns) {
    const long most[] = {0, (long)ns};
    uint64_t before = clock_coarse();
    if (raw4(SYS_futex, lock, FUTEX_WAIT_PRIVATE, seen, most) == -ETIMEDOUT) {
        has_waited(before, ns);
        return ns;
    }
    uint64_t slept = clock_coarse() - before + LEAST_NS;
    has_waited(before, slept);
    return slept < ns ? slept : ns;
}

/* A handler may fork during a wait.  Its child returns into the wait for a lock that is not held there.  So a
 * waiter checks whether it is a child, and sleeps with a timeout, because futex(2) then ends with EINTR, also
 * under SA_RESTART.  A waiter that gives up passes on the wake-up that it may have had. */
enum lock_slow lock_slow(uint32_t *lock, uint32_t seen) {
    bool asked = false;
    uint64_t rest = 0;
    for (int i = 0;; i++) {
        if (UNLIKELY(i >= SPINS && *LOAD(&gate) != GATE_OPEN))
            gate_slow();
        const uint32_t mine = lock_my_word();
        if (seen >> 18 != fork_generation) {
            if (REPLACE(lock, &seen, mine | 1, __ATOMIC_ACQUIRE))
                return LOCK_OF_PARENT;
        } else if ((seen & 3) == 0) {
            /* after a sleep: other threads may sleep too, so take it as "waited for" */
            if (REPLACE(lock, &seen, mine | (i < SPINS ? 1 : 2), __ATOMIC_ACQUIRE))
                return LOCK_TAKEN;
        } else if ((seen & ~UINT32_C(3)) == mine) {
            return LOCK_MISSED; /* this thread has it: a handler has interrupted it */
        } else if (i < SPINS) {
            relax();
            seen = LOAD(lock);
        } else {
            if (!asked)
                asked = true, rest = patience(clock_coarse());
            if (rest == 0) {
                if (seen & 2)
                    lock_wake(lock);
                return LOCK_MISSED;
            }
            uint32_t waited_for = (seen & ~UINT32_C(3)) | 2;
            if (seen == waited_for || REPLACE(lock, &seen, waited_for, __ATOMIC_RELAXED)) {
                rest -= sleep_at(lock, waited_for, rest);
                seen = LOAD(lock);
            }
        }
    }
}

void lock_wake(uint32_t *lock) {
    raw3(SYS_futex, lock, FUTEX_WAKE_PRIVATE, 1);
}
