/* SPDX-License-Identifier: MIT
 *
 * The state of a thread, the gate, and the word of a lock, for connections (conn.h) and for short lists
 * (spin_lock).
 *
 * A thread may be stopped anywhere: by a signal's handler that waits, a debugger, a priority, a cgroup's
 * freezer.  So no call waits without a bound for another thread: a thread waits 200 ms in a row, and then a
 * tenth of its time (patience() in lock.c); then the lock cannot be had.  The same holds for a handler that
 * has interrupted its own thread's lock.  What then becomes of the call is one protocol (reentry.h).
 *
 * These calls wait without a bound, because bare they would, too: a blocking write behind another thread's
 * blocking write of buffered bytes (drain() in coalesce.c), and any call for room in the kernel.
 *
 * A system call under a lock makes it more likely that a thread is stopped there.  These are made so:
 *   - the send of buffered bytes: its order with other threads' writes is the lock's;
 *   - SO_COOKIE before it, and at the first byte: it tells whether the number is still the socket;
 *   - TCP_NODELAY: after an unlock it could overtake another thread's hold_restore(), and stay set for the
 *     program of a child;
 *   - the questions for MSS, options, addresses and room, once a connection, and TCP_INFO: their answers are
 *     about the number that the decision is about, and that another thread may close;
 *   - what ends a connection: SO_LINGER and the copy of its last descriptor, while bytes are buffered;
 *   - mmap(2) for a list that has run empty, MADV_POPULATE_WRITE for rows of the statistics, and the
 *     making of their file;
 *   - clone(2) under the lock of the window's thread, of which there is one at most.
 *
 * Fork: the word carries the fork generation; a word of an older generation is a lock that some thread of the
 * parent may have held, and is taken.
 */
#ifndef UNSTALL_LOCK_H
#define UNSTALL_LOCK_H

#include "kernel.h"
#include "raw.h"
#include "upcalls.h"

/* ---- a thread's state, and the gate -------------------------------------
 *
 * The state of one thread, and the gate that every exported call checks first.  Initial-exec thread-locals,
 * at most 512 bytes in all, so that the library can also be loaded late (docs/design.md, "Fork, vfork,
 * memory").  Signal handlers share them.  If `depth` > 0, the handler has interrupted the library inside a
 * lock, and reentry.h handles its calls; or it has left by a way that we do not see, which reentry_is_over()
 * finds out at the thread's next call.
 */

struct conn;

struct thread {
    struct conn *turn;      /* the connection of this thread's open turn, or NULL */
    struct conn *draining;  /* the connection whose buffered bytes this thread sends, blocking */
    struct conn *releasing; /* the connection whose hold a plain write of this thread ends */
    struct conn *locked;    /* the connection whose lock this thread holds */
    uint32_t *spinning;     /* the short lock that it holds */
    uint64_t read_began;    /* ns of CLOCK_MONOTONIC: from then on the next input is timed; 0: it is not */
    union {
        struct {
            uint16_t depth; /* > 0: inside our own critical section */
            bool vforked;   /* a vfork child runs on this thread's memory: change nothing */
            bool drains;    /* `draining` is set */
        };
        uint32_t busy; /* the three above in one word: 0 if all are 0 */
    };
    uintptr_t frame;       /* the stack pointer when `depth` became 1 (reentry_is_over()) */
    uintptr_t drain_frame; /* ... and when the blocking send of `draining` began */
    uint64_t wait_debt;    /* clock_coarse(): see lock_slow() */
    uint32_t tag;       /* identifies the holder of a lock; 16 bits, 0: none yet */
    uint32_t lock_bits; /* this thread's part of the word of a lock that it holds; 0: not made yet */
    bool ends_watched;  /* a destructor for this thread's end is registered; then `lock_bits` are made */
    bool joins;         /* inside pthread_join(3) or its like */
    struct {
        const struct conn *of;
        uint64_t since; /* its habit_ns */
        struct kernel_usage used;
    } hold; /* what this thread had used when it began this hold of a watched endpoint */
};

extern _Thread_local struct thread self __attribute__((tls_model("initial-exec")));

uint32_t thread_tag_new(void);

/* The tag of this thread, which is also in the word of each lock that it holds. */
static inline uint32_t thread_tag(void) {
    return LIKELY(self.tag != 0) ? self.tag : thread_tag_new();
}

/* Begins a section of ours: to a handler that interrupts it, `depth` tells of it. */
static inline void thread_enters(void) {
    uint16_t depth = self.depth;
    if (LIKELY(depth == 0)) {
        self.frame = stack_pointer();
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    self.depth = (uint16_t)(depth + 1);
}

/* The gate: one byte in a page that the kernel wipes at fork (MADV_WIPEONFORK): it detects a child of any
 * call (fork, _Fork, raw clone).  If the kernel refuses, the gate stays shut, and gate_slow() compares the
 * id. */
enum { GATE_SHUT = 0, GATE_OPEN = 1 };

extern INTERNAL const volatile uint8_t *gate;

/* This thread is inside a section of ours, or in a blocking send of buffered bytes (`busy`).  True: it has
 * left the section, as the stack shows, or this call is a handler's that has interrupted the send: it may use
 * our state (reentry.c). */
bool reentry_is_over(void);

/* The same, where a thread in a section of ours, or a fork not noticed yet, goes the longer way. */
static inline bool gate_is_open(void) {
    return LIKELY(!self.busy) && LIKELY(*LOAD(&gate) == GATE_OPEN);
}

/* True if this call may use our state. */
static inline bool gate_enter(void) {
    if (UNLIKELY(self.busy) && !reentry_is_over())
        return false;
    return LIKELY(*LOAD(&gate) == GATE_OPEN) || gate_slow();
}

/* True if this call may set something aside (reentry.h): a handler that has interrupted its thread inside a
 * lock, in a process whose state is repaired, or a call that could not have a lock. */
static inline bool ours_aside(void) {
    return self.depth ? !self.vforked && *LOAD(&gate) == GATE_OPEN : gate_enter();
}

/* ---- locks -------------------------------------------------------------- */

/* Grows by one in the child of each fork, by lock_forked(). */
extern INTERNAL uint32_t fork_generation;
/* The word of a lock that is free: see lock_my_word(). */
extern INTERNAL uint32_t lock_free_now;
void lock_forked(void);

enum { LOCK_PATIENCE_NS = 200000000 };

/* Takes a lock that was not free, if it can be had. */
enum lock_slow { LOCK_MISSED, LOCK_TAKEN, LOCK_OF_PARENT /* before the fork that made this process */ };
enum lock_slow lock_slow(uint32_t *lock, uint32_t seen);
void lock_wake(uint32_t *lock);

/* A lock's word: fork generation << 18 | tag of the holder << 2 | 0 free, 1 taken, 2 taken and waited for.
 * At every instruction it tells whether this thread is the holder: a handler may jump away.
 *
 * A waiter spins briefly and then sleeps: under SCHED_FIFO one that only yields would block a holder of lower
 * priority for ever.  The holder does not inherit the waiter's priority; the kernel's own lock of the same
 * socket does not pass it on either, and the holder spends ten times as long there. */
static inline uint32_t lock_my_word(void) {
    return fork_generation << 18 | thread_tag() << 2;
}

/* Without a watch of this thread's end (thread_may_lock). */
static inline void lock_bits_make(void) {
    self.lock_bits = thread_tag() << 2 | 1;
}

/* The word of a lock that this thread takes.  A thread keeps its own bits only: after a fork that passed by
 * the library, another thread of the child may be the first to notice it. */
static inline uint32_t lock_taken_word(void) {
    if (UNLIKELY(self.lock_bits == 0))
        thread_may_lock();
    return lock_free_now | self.lock_bits;
}

static inline bool lock_is_mine(const uint32_t *lock) {
    uint32_t word = LOAD(lock);
    return (word & 3) != 0 && (word & ~UINT32_C(3)) == lock_my_word();
}

static inline void lock_free(uint32_t *lock) {
    uint32_t before = __atomic_exchange_n(lock, lock_free_now, __ATOMIC_SEQ_CST);
    if (UNLIKELY(before & 2))
        lock_wake(lock);
}

/* ---- short locks --------------------------------------------------------
 *
 * For short lists (pools, totals) that are used when connections or threads begin and end, never on the write
 * path.  They work as a connection's lock does, and self.depth counts them.
 */

static inline void spin_ends(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.spinning = NULL;
    self.depth--;
}

static inline bool spin_take(uint32_t *lock, bool waits) {
    thread_enters();
    self.spinning = lock;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t seen = lock_free_now;
    if (LIKELY(REPLACE(lock, &seen, lock_taken_word(), __ATOMIC_ACQUIRE)) ||
        ((waits || seen >> 18 != fork_generation) && lock_slow(lock, seen) != LOCK_MISSED))
        return true;
    spin_ends();
    return false;
}

/* False: the lock cannot be had (lock.h). */
__attribute__((warn_unused_result)) static inline bool spin_lock(uint32_t *lock) {
    return spin_take(lock, true);
}

/* Never waits: false when another thread has it. */
__attribute__((warn_unused_result)) static inline bool spin_trylock(uint32_t *lock) {
    return spin_take(lock, false);
}

static inline void spin_unlock(uint32_t *lock) {
    lock_free(lock);
    spin_ends();
}

/* ---- pools of pieces ----------------------------------------------------
 *
 * Pieces of one size, from mapped chunks that are never unmapped.  The first word of a free
 * piece points to the next one.  Writes on the fast path do not use a pool.
 */

struct pool {
    void *free;
    uint32_t lock;
};

static inline void pool_push(struct pool *p, void *piece) {
    *(void **)piece = p->free;
    p->free = piece;
}

/* Where the lock cannot be had, the piece is lost. */
static inline void pool_give(struct pool *p, void *piece) {
    if (!spin_lock(&p->lock))
        return;
    pool_push(p, piece);
    spin_unlock(&p->lock);
}

/* A piece of `each` bytes.  If none is free, maps a chunk of `count` pieces.  NULL: no memory.  Lock held. */
static inline void *pool_pop(struct pool *p, size_t each, size_t count) {
    char *chunk = p->free ? NULL : raw_map(each * count);
    for (size_t i = count; chunk && i-- > 0;)
        pool_push(p, chunk + each * i);
    void *piece = p->free;
    if (piece)
        p->free = *(void **)piece;
    return piece;
}

/* The same without the lock.  NULL also if the lock cannot be had. */
static inline void *pool_take(struct pool *p, size_t each, size_t count) {
    if (!spin_lock(&p->lock))
        return NULL;
    void *piece = pool_pop(p, each, count);
    spin_unlock(&p->lock);
    return piece;
}

#endif
