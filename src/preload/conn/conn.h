/* SPDX-License-Identifier: MIT
 *
 * A connection: one TCP socket, with all descriptors of this process that lead to it.
 *
 * Ownership: connections live in a pool that is never unmapped (fds.c), so a stale pointer is always
 * readable.  A user of one takes the lock and checks that the descriptor still leads here.  `refs` counts the
 * descriptors.
 *
 * Locking: only the holder of `lock` changes a connection, except `lock` itself, `next_ticking`, `aside`,
 * `given`, `turn_end` (hold_end_turn_unlocked), `fd` and `lingering` (a close that cannot have the lock) and
 * counts.bytes; in mode off, and of a write that cannot have the lock, also the other counts, and the
 * policy's message_bytes and small_writes.  A thread holds one connection's lock at a time and makes no call
 * under it that could block or is a cancellation point.  No lock is shared between connections on the write
 * path.  The lock may not be had: each caller says what becomes of its call then (lock.h, reentry.h).
 *
 * Signal handlers: one that interrupts the holder sees self.depth > 0 and does not wait for the lock, which
 * its own thread has (reentry.h).  Fork: the child takes a lock of an older generation (lock.h), and its
 * first conn_lock() repairs the connection (conn_lock_slow).
 */
#ifndef UNSTALL_CONN_H
#define UNSTALL_CONN_H

#include "lock.h"
#include "policy.h"
#include "stats_format.h"

struct evidence;
struct coalesce_buffer;
struct piece;

/* The reasons of a push, and the counters of a connection (stats_format.h). */
#define NAME(constant, name, what) constant,
enum push_cause { PUSH_COUNTERS_OF(NAME) PUSH_CAUSES };
#undef NAME
#define NAME(constant, name, what) uint32_t name;
enum { CONN_COUNTERS = COUNT_PUSH_WAIT + PUSH_CAUSES - COUNT_WRITES };

struct conn_counts {
    uint64_t bytes; /* atomic: a write that passes without the lock counts, too (conn_count_bytes) */
    union {
        struct {
            CONNECTION_COUNTERS_OF(NAME)
            uint32_t pushes[PUSH_CAUSES];
        };
        uint32_t counter[CONN_COUNTERS]; /* the same, from COUNT_WRITES on */
    };
};
#undef NAME

/* A turn that holds nothing may end without the lock at a read or a wait (hold_end_turn_unlocked): it is
 * marked TURN_ENDED_UNLOCKED, and the model is updated at the next lock.  A turn that must update the
 * endpoint cache at once ends under the lock, like a turn that holds (TURN_ENDS). */
enum turn_end { TURN_ENDS, TURN_MAY_END_UNLOCKED, TURN_ENDED_UNLOCKED };

/* What a call that could not have the lock has set aside: the low bits of conn.aside, whose other bits are
 * the address of the latest piece (reentry.h). */
enum conn_aside {
    ASIDE_PUSH = 1,         /* a turn has ended, or a write has passed held bytes: they leave */
    ASIDE_INPUT = 1 << 1,   /* input has ended the message */
    ASIDE_NUMBERS = 1 << 2, /* a descriptor was closed, replaced or copied: count anew */
    ASIDE_SHUT = 1 << 3,    /* sending has ended */
    ASIDE_SHUTS = 1 << 4,   /* ... of which the kernel has not been told */
    ASIDE_DRAINED = 1 << 5, /* the blocking send of buffered bytes is over (buffer_drained()) */
    ASIDE_NODELAY = 1 << 6, /* the application has set TCP_NODELAY: to 1 with the next one, else to 0 */
    ASIDE_NODELAY_1 = 1 << 7,
    ASIDE_CORK = 1 << 8, /* the same of TCP_CORK */
    ASIDE_CORK_1 = 1 << 9,
    ASIDE_APART = 1 << 10, /* another option after which nothing is held */
    ASIDE_NEW = 1 << 11,   /* connected anew: facts about the connection before are wrong */
    CONN_ASIDE_FLAGS = (1 << 12) - 1
};

enum conn_origin { ORIGIN_SOCKET, ORIGIN_ACCEPTED, ORIGIN_FOREIGN };

typedef uint64_t window_tick; /* a number of the ticks of the window's thread: no time */

struct conn {
    /* These stay valid when the struct is used again: other threads read them without the lock. */
    uint32_t lock;             /* see lock_free_now */
    bool ticking;              /* on the list of the window's thread */
    uint8_t times_read;        /* policy_times_read() */
    uint16_t generation;       /* grows when the struct is used again: detects stale pointers */
    struct conn *next_ticking; /* belongs to the window's thread */
    uintptr_t aside;           /* what calls set aside that could not have the lock (reentry.h) */
    /* The rest belongs to one connection; conn_reset() clears it. */
    int fd; /* one of the descriptors that lead here */
    uint32_t refs;
    union { /* with the window's thread, and without it */
        window_tick held_tick; /* in which the hold or the buffering began */
        uint64_t habit_ns;     /* when the hold, or the last write of the turn, began */
    };
    struct coalesce_buffer *buffer;
    bool held;        /* the kernel holds bytes because of our MSG_MORE */
    bool lingering;   /* closed by the application, buffered bytes still to send */
    bool draining;    /* a thread is blocked sending buffered bytes; set under the lock, also read without */
    uint8_t endpoint; /* its entry of the endpoint cache, 0: none */
    /* The window's thread reads no field after this one, so it reads one cache line. */
    uint32_t epoch; /* of the configuration that gave `policy.mode`, by its filters, too; 0: none yet */
    struct policy policy;
    uint8_t origin : 2; /* enum conn_origin */
    bool listener : 1;
    bool filters_applied : 1;   /* `filtered` is known */
    bool filtered : 1;          /* the filters exclude it: as if mode were off */
    bool passed : 1;            /* sent by SCM_RIGHTS, to another process or to this one */
    bool shared : 1;            /* inherited by fork: the parent has it too */
    bool flush_blocked : 1;     /* a flush of the buffer found no room in the kernel */
    bool waited : 1;            /* ... nor did a walk that waited (hold_push_buffers) */
    bool untracked_at_fork : 1; /* had untracked I/O at that fork: the parent may go on with it */
    bool shut_when_sent : 1;    /* shut down for writing; the kernel is told when the buffer is empty */
    bool tried : 1;             /* the application has tried to read from it */
    bool crossed_input : 1;     /* input has come after the write of `crossed_ms` */
    uint8_t turn_end;           /* enum turn_end: how the turn of turn_owner may end or has ended */
    bool given;                 /* a program that this process has started may have it; no lock needed */
    uint16_t writer;            /* coalesce: thread_tag() of the first thread with a turn */
    uint8_t forks;              /* forks_made when the connection was first seen */
    uint16_t crossed_ms;        /* the time of a write behind unacknowledged bytes (turn.h); 0: none */
    uint16_t pending_error;     /* errno of a send of our own, not yet reported to the application */
    int other_fd; /* perhaps another descriptor of it: tried first when `fd` is closed */
    uint32_t nodelay_checked; /* the nodelay_epoch at which policy.nodelay was certain */
    union {
        uint64_t wait_began;    /* ns, CLOCK_MONOTONIC: wait that ended the last turn; 0: none */
        struct conn *next_free; /* in the pool, while refs is 0: no user of a stale pointer stores here */
    };
    const struct thread *turn_owner;
    uint64_t cookie; /* SO_COOKIE; 0: not asked */
    struct conn_counts counts;
    struct evidence *evidence; /* NULL unless statistics or observe are on */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct conn) == 256 || sizeof(long) == 4,
               "fields that few connections need are in evidence.h");

/* Grows before a fork of this process, and once more after it, in the parent; modulo 256. */
extern INTERNAL uint8_t forks_made;
/* Grows when another process may set options of our sockets (fork, exec). */
extern INTERNAL uint32_t nodelay_epoch;

/* True: a fork or the application has given the socket to another process, or to this one. */
static inline bool conn_given_away(const struct conn *c) {
    return c->passed || c->shared || c->forks != LOAD(&forks_made);
}

/* True: another process may have the socket.  A call that the library has seen gave it away, or the socket
 * came from outside: by exec, by SCM_RIGHTS, or as a number that the library does not know. */
static inline bool conn_is_shared(const struct conn *c) {
    return conn_given_away(c) || LOAD(&c->given) || c->origin == ORIGIN_FOREIGN;
}

/* What was set aside for c (reentry.h).  `take_in` makes up for it, lock held; `catch_up` is called after the
 * unlock; `forget` drops it. */
void reentry_take_in(struct conn *c);
void reentry_catch_up(struct conn *c);
void reentry_forget(struct conn *c);

/* True: bytes of calls that could not have the lock are set aside: all later bytes must stand behind them. */
static inline bool conn_has_aside(const struct conn *c) {
    return LOAD(&c->aside) > CONN_ASIDE_FLAGS;
}

/* Bytes that the kernel takes, or (negative) that it has not taken after all.  The lock is not needed. */
static inline void conn_count_bytes(struct conn *c, uint64_t bytes) {
    __atomic_fetch_add(&c->counts.bytes, bytes, __ATOMIC_RELAXED);
}

/* Of `counted` bytes the kernel has taken `sent`, or none (negative). */
static inline void conn_count_sent(struct conn *c, size_t counted, ssize_t sent) {
    conn_count_bytes(c, (sent > 0 ? (uint64_t)sent : 0) - counted);
}

bool conn_lock_slow(struct conn *c, uint32_t seen);

static inline __attribute__((always_inline)) bool conn_take(struct conn *c, bool waits) {
    struct conn *outer = self.locked;
    thread_enters();
    self.locked = c;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t expected = lock_free_now;
    if (UNLIKELY(!REPLACE(&c->lock, &expected, lock_taken_word(), __ATOMIC_ACQUIRE)) &&
        ((!waits && expected >> 18 == fork_generation) || !conn_lock_slow(c, expected))) {
        self.locked = outer;
        self.depth--;
        return false;
    }
    if (UNLIKELY(LOAD(&c->aside) != 0))
        reentry_take_in(c);
    return true;
}

/* False: the lock cannot be had (lock.h). */
__attribute__((warn_unused_result)) static inline bool conn_lock(struct conn *c) {
    return conn_take(c, true);
}

/* Never waits: false when another thread has it. */
__attribute__((warn_unused_result)) static inline bool conn_trylock(struct conn *c) {
    return conn_take(c, false);
}

/* Builds with -DUNSTALL_CHECKS (the unit tests, scripts/fuzz, scripts/sanitize) end the process at an unlock
 * that leaves an illegal combination of flags.  The installed library has no check. */
#ifdef UNSTALL_CHECKS
bool conn_is_legal(const struct conn *c);
void conn_check(const struct conn *c);
#else
static inline void conn_check(const struct conn *c) {
    (void)c;
}
#endif

/* Both sides are sequentially consistent, so that nothing that was set aside is missed: the other call
 * stores `aside` and then tries the lock; we free the lock and then load `aside`. */
static inline void conn_unlock(struct conn *c) {
    conn_check(c);
    lock_free(&c->lock);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.locked = NULL;
    self.depth--;
    if (UNLIKELY(__atomic_load_n(&c->aside, __ATOMIC_SEQ_CST) != 0))
        reentry_catch_up(c);
}

/* Clear c for a new connection with descriptor fd.  Lock held. */
void conn_reset(struct conn *c, int fd, enum conn_origin origin);

/* ---- what the connections of an endpoint have learned ---------------------
 *
 * The connections accepted from one listener, or made to one destination, write alike: a new one starts with
 * what earlier ones have learned (policy.bursty and the model of their turns).  A table of a fixed size,
 * without a lock: its words are read and written whole.  Two writers may mix their models, and two endpoints
 * may share an entry.  That costs at most a push or a segment, as any wrong guess does.
 */

/* The number of an endpoint's entry: 1 to 255; 0: none. */
uint8_t endpoint_of_listener(const struct conn *listener);
uint8_t endpoint_of_destination(const struct sockaddr *address, socklen_t length);

/* A new connection (lock held) takes over the values of its endpoint. */
void endpoint_join(struct conn *c, uint8_t endpoint);

/* What late holds without a window have shown about an endpoint (turn.c).  No fact is ever cleared, and
 * each also applies to another endpoint with the same entry.  Entry 0 has none. */
struct endpoint_late {
    bool watched;      /* one hold was late; of the next ones the library can tell why */
    bool nodelay_only; /* the program makes its pieces late: TCP_NODELAY only */
};
extern INTERNAL struct endpoint_late endpoint_late[256];

/* True if the entry is due for an update: when the number of turns is a power of two (or 0). */
static inline bool endpoint_update_is_due(const struct conn *c) {
    return c->endpoint && (c->counts.turns & (c->counts.turns - 1)) == 0;
}

/* policy.crosses has become true. */
void endpoint_crosses(const struct conn *c);

/* A turn of c has ended, or its first input has arrived (lock held): update the entry, if due. */
void endpoint_update(const struct conn *c);

#endif
