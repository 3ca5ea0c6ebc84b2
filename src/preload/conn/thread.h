/* SPDX-License-Identifier: MIT
 *
 * The state of one thread, and the gate that every exported call checks first.
 * Initial-exec thread-locals, at most 512 bytes in all, so that the library can
 * also be loaded late (docs/design.md, "Fork, vfork, memory").
 *
 * Signal handlers share the thread-locals.  If `depth` > 0, the handler has
 * interrupted the library inside a lock, and reentry.h handles its calls; or it has left by a way that we do
 * not see, which reentry_has_left() finds out at the thread's next call.
 */
#ifndef UNSTALL_THREAD_H
#define UNSTALL_THREAD_H

#include "kernel.h"
#include "machine.h"
#include "upcalls.h"

struct conn;

struct thread {
    struct conn *turn;      /* the connection of this thread's open turn, or NULL */
    struct conn *draining;  /* the connection whose buffered bytes this thread sends, blocking */
    struct conn *releasing; /* the connection whose hold a plain write of this thread ends */
    struct conn *locked;    /* the connection whose lock this thread holds */
    uint32_t *spinning;     /* the short lock that it holds */
    uint64_t read_began;    /* ns of CLOCK_MONOTONIC: of a read under way that is timed; else 0 */
    union {
        struct {
            uint16_t depth; /* > 0: inside our own critical section */
            bool vforked;   /* a vfork child runs on this thread's memory: change nothing */
            bool drains;    /* `draining` is set */
        };
        uint32_t busy; /* the three above in one word: 0 if all are 0 */
    };
    uintptr_t frame;       /* the stack pointer when `depth` became 1 (reentry_has_left()) */
    uintptr_t drain_frame; /* ... and when the blocking send of `draining` began */
    uint64_t wait_debt;    /* clock_coarse(): see lock_slow() */
    uint32_t tag;       /* identifies the holder of a lock; 16 bits, 0: none yet */
    uint32_t lock_bits; /* this thread's part of the word of a lock that it holds (lock.h); 0: not made yet */
    bool ends_watched;  /* a destructor for this thread's end is registered; then `lock_bits` are made */
    bool joins;         /* inside pthread_join(3) or its like */
    struct {
        const struct conn *of;
        uint64_t since; /* its held_since */
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

/* The gate: one byte in a page that the kernel wipes at fork (MADV_WIPEONFORK).  It
 * detects a child of any call (fork, _Fork, raw clone).  If the kernel refuses to wipe
 * it, the gate stays shut, and gate_slow() compares the process id. */
enum { GATE_SHUT = 0, GATE_OPEN = 1 };

extern INTERNAL const volatile uint8_t *gate;

/* This thread is inside a section of ours, or in a blocking send of buffered bytes (`busy`).  True: it has
 * left the section, as the stack shows, or this call is a handler's that has interrupted the send: it may use
 * our state (reentry.c). */
bool reentry_has_left(void);

/* True if this call may use our state. */
static inline bool ours(void) {
    if (UNLIKELY(self.busy) && !reentry_has_left())
        return false;
    return LIKELY(*LOAD(&gate) == GATE_OPEN) || gate_slow();
}

/* True if this call may set something aside (reentry.h): a handler that has interrupted its thread inside a
 * lock, in a process whose state is repaired, or a call that could not have a lock. */
static inline bool ours_aside(void) {
    return self.depth ? !self.vforked && *LOAD(&gate) == GATE_OPEN : ours();
}

#endif
