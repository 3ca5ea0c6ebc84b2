/* SPDX-License-Identifier: MIT */
#include "conn.h"

#include <linux/futex.h>
#include <linux/time_types.h>
#include <string.h>

#include "evidence.h"
#include "fds.h"
#include "gather.h"
#include "kernel.h"
#include "raw.h"
#include "tally.h"

const char *const push_cause_names[PUSH_CAUSES] = {
    "wait", "read", "write", "close", "process", "window", "mode", "dark", "application",
};

_Thread_local struct thread self;
_Static_assert(offsetof(struct thread, turn) == 0, "jump.S reads it");
uint32_t fork_generation = 1;
uint8_t forks_made;

enum { SPINS = 64 };

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

uint32_t thread_tag_new(void) {
    static uint32_t last;
    do
        self.tag = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) & 0xffff;
    while (self.tag == 0);
    return self.tag;
}

/* A handler may fork beneath a wait.  Its child returns into the wait of a lock that is not held here: it looks
 * whether it is a child, and sleeps with a timeout, because futex(2) then ends with EINTR, also under SA_RESTART. */
bool lock_slow(uint32_t *lock, uint32_t seen) {
    static const struct __kernel_timespec patience = {.tv_sec = 1};
    for (int i = 0;; i++) {
        if (UNLIKELY(i >= SPINS && *LOAD(&gate) != GATE_OPEN))
            gate_slow();
        const uint32_t mine = lock_my_word();
        if (seen >> 18 != fork_generation) {
            if (__atomic_compare_exchange_n(lock, &seen, mine | 1, false, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED))
                return true;
        } else if ((seen & 3) == 0) {
            /* once we have waited others may wait too: take it as "waited for" */
            if (__atomic_compare_exchange_n(lock, &seen, mine | (i < SPINS ? 1 : 2), false,
                                            __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return false;
        } else if (i < SPINS) {
            relax();
            seen = LOAD(lock);
        } else {
            uint32_t waited_for = (seen & ~UINT32_C(3)) | 2;
            if (seen != waited_for &&
                !__atomic_compare_exchange_n(lock, &seen, waited_for, false, __ATOMIC_RELAXED,
                                             __ATOMIC_RELAXED))
                continue;
            raw4(SYS_futex, lock, FUTEX_WAIT_PRIVATE, waited_for, &patience);
            seen = LOAD(lock);
        }
    }
}

void lock_wake(uint32_t *lock) {
    raw3(SYS_futex, lock, FUTEX_WAKE_PRIVATE, 1);
}

void conn_lock_slow(struct conn *c, uint32_t seen) {
    if (lock_slow(&c->lock, seen))
        conn_repair(c);
}

void conn_reset(struct conn *c, int fd, enum conn_origin origin) {
    if (c->deferred)
        nested_forget(c);
    if (c->gather)
        gather_free(c);
    if (c->evidence) {
        tally_ends(c, NULL); /* if nobody has seen its end */
        evidence_free(c);
    }
    memset((char *)c + offsetof(struct conn, fd), 0, sizeof(*c) - offsetof(struct conn, fd));
    c->fd = fd;
    STORE(&c->births, (uint16_t)(c->births + 1));
    STORE(&c->refs, 1);
    c->origin = (uint8_t)origin;
    c->forks = LOAD(&forks_made);
}

void conn_repair(struct conn *c) {
    RAW_CHILD_BEGINS();
    if (c->lingering) { /* the parent sends the rest and closes; our copy would keep it open */
        kernel->close(c->fd);
        fds_set(c->fd, FDS_UNKNOWN);
        STORE(&c->lingering, false);
        STORE(&c->refs, 0);
    }
    STORE(&c->deferred, NULL); /* the parent's to send */
    STORE(&c->held, false);
    c->draining = false;
    c->ticking = false;
    c->next_ticking = NULL;
    c->turn_owner = NULL;
    STORE(&c->turn_end, TURN_ENDS);
    c->policy.position = 0;
    c->policy.quick_turns = 0;
    STORE(&c->kept_error, 0);
    if (c->gather)
        gather_drop(c);
    memset(&c->counts, 0, sizeof(c->counts));
    if (c->evidence)
        evidence_repair(c);
    c->shared = true;
    c->dark_there = c->policy.dark;
    c->origin = ORIGIN_FOREIGN; /* what the parent wrote is not counted here */
    c->stuck = false;
    RAW_CHILD_ENDS();
}
