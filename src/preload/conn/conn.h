/* SPDX-License-Identifier: MIT
 *
 * A connection: one TCP socket, however many descriptors of this process lead
 * to it.
 *
 * Ownership: connections live in a pool that is never unmapped (fds.c), so a
 * stale pointer is always readable; whoever follows one takes the lock and
 * checks that the descriptor still leads here.  `refs` counts the descriptors.
 *
 * Locking: everything but `next_ticking`, `lock` and `deferred` belongs to the
 * holder of `lock`.  A thread holds one connection's lock at a time and makes
 * no call under it that could block or is a cancellation point.  No lock is
 * shared between connections on the write path.
 *
 * Signal handlers: a handler that interrupts a holder sees self.depth > 0 and
 * goes by reentry.h, so the lock is never waited for by its own thread.
 *
 * Fork: the lock word carries the fork generation; a word of an older
 * generation is a lock that some thread of the parent may have held.  Whoever
 * locks it first in the child repairs the connection (conn_repair).
 */
#ifndef UNSTALL_CONN_H
#define UNSTALL_CONN_H

#include "base.h"
#include "lock.h"
#include "policy.h"
#include "stats_format.h"

struct evidence;
struct coalesce_buffer;
struct piece;

/* Why held or buffered bytes were let go, and what is counted of a connection (stats_format.h). */
#define NAME(constant, name, what) constant,
enum push_cause { PUSH_COUNTERS_OF(NAME) PUSH_CAUSES };
#undef NAME
#define NAME(constant, name, what) uint32_t name;
enum { CONN_COUNTERS = COUNT_PUSH_WAIT + PUSH_CAUSES - COUNT_WRITES };

struct conn_counts {
    uint64_t bytes;
    union {
        struct {
            CONNECTION_COUNTERS_OF(NAME)
            uint32_t pushes[PUSH_CAUSES];
        };
        uint32_t counter[CONN_COUNTERS]; /* the same, from COUNT_WRITES on */
    };
};
#undef NAME

/* A turn that holds nothing may end without the lock at a read (hold_leaves_turn): it is
 * left, and what it teaches is learned at the next lock.  One of which siblings are to
 * learn at once (endpoint_cache.h) ends as those that hold do. */
enum turn_end { TURN_ENDS, TURN_MAY_LEAVE, TURN_LEFT };

enum conn_origin { ORIGIN_SOCKET, ORIGIN_ACCEPTED, ORIGIN_FOREIGN };

struct conn {
    /* these outlive the connection: others look at them without the lock */
    uint32_t lock;             /* see lock_free_word() */
    bool ticking;              /* on the ticker's list */
    uint16_t generation;           /* connections that this place has been: a pointer may be stale */
    struct conn *next_ticking; /* the ticker's own */
    struct piece *deferred;    /* what handlers wrote while the lock was held (reentry.h) */
    /* from here on all belongs to one connection and is cleared by conn_reset() */
    int fd; /* one of the descriptors that lead here */
    uint32_t refs;
    uint64_t held_since; /* the hold or buffering began: the ticker's count; where there is no
                          * ticker, ns of the coarse clock */
    struct coalesce_buffer *buffer;
    bool held;      /* the kernel holds bytes because of our MSG_MORE */
    bool lingering; /* closed by the application, buffered bytes still to send */
    bool draining;  /* a thread is blocked sending buffered bytes */
    uint8_t endpoint;    /* the family it learns from and teaches (endpoint_cache.h), 0: none */
    /* what the ticker looks at ends here, within the first cache line */
    uint32_t epoch; /* of the configuration that `policy.mode` comes from */
    struct policy policy;
    uint8_t origin; /* enum conn_origin */
    bool listener : 1;
    bool mptcp : 1;
    bool filters_applied : 1;     /* the filters have been asked */
    bool filtered : 1;   /* ... and exclude it: as if mode were off */
    bool passed : 1;     /* was sent to another process, or to this one, by SCM_RIGHTS */
    bool shared : 1;     /* it was there at a fork that made this process: the parent has it too */
    bool flush_blocked : 1;      /* buffered bytes were let go, the kernel had no room */
    bool untracked_at_fork : 1; /* it was untracked at that fork: the parent writes unseen, too */
    bool tried : 1;      /* the application has read here, if only in vain */
    uint8_t turn_end;    /* enum turn_end: how the turn of turn_owner may end, or has */
    uint8_t forks;       /* that the process had made when it met this one, modulo 256 */
    int pending_error;      /* errno of a send of our own, not yet told to the application */
    int other_fd;        /* another one, perhaps: where to look first when fd is closed */
    uint32_t nodelay_checked;      /* the doubt epoch at which policy.nodelay was certain */
    uint64_t wait_began; /* ns, CLOCK_MONOTONIC: the wait that ended the last turn; 0: none */
    union {
        const struct thread *turn_owner;
        struct conn *next_free; /* in the pool */
    };
    uint64_t cookie; /* SO_COOKIE; 0: not asked */
    struct conn_counts counts;
    struct evidence *evidence; /* where statistics or observe are on, else NULL */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct conn) == 256, "what few connections need is in evidence.h");

/* Forks that this process has made, modulo 256. */
extern uint8_t forks_made;
/* Grows when another process may set options of our sockets (fork, exec). */
extern uint32_t nodelay_epoch;

/* What signal handlers wrote to c while its lock was held (reentry.h): `take_in` puts it
 * behind what is buffered, lock held; `catch_up` comes after the unlock; `forget` drops it. */
void reentry_take_in(struct conn *c);
void reentry_catch_up(struct conn *c);
void reentry_forget(struct conn *c);

void conn_lock_slow(struct conn *c, uint32_t seen);

static inline void conn_lock(struct conn *c) {
    self.depth++;
    self.locked = c;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t expected = lock_free_word();
    if (UNLIKELY(!__atomic_compare_exchange_n(&c->lock, &expected, lock_my_word() | 1, false,
                                              __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
        conn_lock_slow(c, expected);
    if (UNLIKELY(LOAD(&c->deferred) != NULL))
        reentry_take_in(c);
}

/* Never waits: false when another thread has it. */
static inline bool conn_trylock(struct conn *c) {
    struct conn *outer = self.locked;
    self.depth++;
    self.locked = c;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t expected = lock_free_word();
    if (UNLIKELY(!__atomic_compare_exchange_n(&c->lock, &expected, lock_my_word() | 1, false,
                                              __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))) {
        if (expected >> 18 == fork_generation) {
            self.locked = outer;
            self.depth--;
            return false;
        }
        conn_lock_slow(c, expected);
    }
    if (UNLIKELY(LOAD(&c->deferred) != NULL))
        reentry_take_in(c);
    return true;
}

/* Test builds: is what the holder leaves behind legal (conn_check.h)? */
#ifdef UNSTALL_CHECKS
void conn_check(const struct conn *c);
#else
static inline void conn_check(const struct conn *c) {
    (void)c;
}
#endif

/* The exchange and the load are one order with the handler's: it writes `deferred` and
 * then tries the lock, we free the lock and then read `deferred`. */
static inline void conn_unlock(struct conn *c) {
    conn_check(c);
    lock_free(&c->lock);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.locked = NULL;
    self.depth--;
    if (UNLIKELY(__atomic_load_n(&c->deferred, __ATOMIC_SEQ_CST) != NULL))
        reentry_catch_up(c);
}

/* Start afresh as the connection of a descriptor born now.  Lock held. */
void conn_reset(struct conn *c, int fd, enum conn_origin origin);

/* In the child of a fork: what the parent's other threads may have left half
 * done, and what the parent will do itself (its held and buffered bytes). */
void conn_repair(struct conn *c);

#endif
