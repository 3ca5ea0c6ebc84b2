/* SPDX-License-Identifier: MIT
 *
 * What belongs to one thread, and the gate that every exported call looks at
 * first.  Initial-exec thread-locals, at most 512 bytes in all, so that the
 * library can also be loaded late (docs/design.md, "Fork, vfork, memory").
 *
 * Signal handlers run on the same thread-locals: `depth` tells a handler that
 * it interrupted us inside a lock; its calls then go by reentry.h.
 */
#ifndef UNSTALL_THREAD_H
#define UNSTALL_THREAD_H

#include "base.h"
#include "upcalls.h"

struct conn;

struct thread {
    struct conn *turn;      /* the connection of this thread's open turn, or NULL */
    struct conn *draining;  /* a blocking send of buffered bytes is under way on it */
    struct conn *releasing; /* a plain write that ends a hold is under way on it */
    struct conn *locked;    /* the connection whose lock this thread holds */
    uint32_t *spinning;     /* the short lock that it holds */
    uint32_t depth;         /* > 0: inside our own critical section */
    uint32_t tag;           /* tells the holder of a lock; 16 bits, 0: not given yet */
    bool vforked;           /* a vfork child runs on this thread's memory: touch nothing */
    bool ends_watched;      /* the destructor for this thread's end is armed */
};

extern _Thread_local struct thread self __attribute__((tls_model("initial-exec")));

uint32_t thread_tag_new(void);

/* Tells this thread from the others in a lock's word. */
static inline uint32_t thread_tag(void) {
    return LIKELY(self.tag != 0) ? self.tag : thread_tag_new();
}

/* The gate: one byte in a page that fork wipes (MADV_WIPEONFORK), so that a
 * child is recognised however it was made (fork, _Fork, raw clone).  Where the kernel
 * refuses to wipe it, the gate stays shut, and gate_slow() compares the process's id. */
enum { GATE_SHUT = 0, GATE_OPEN = 1, GATE_SHUT_FOR_GOOD = 2 };

extern const volatile uint8_t *gate;

/* May this call touch our state at all? */
static inline bool ours(void) {
    if (UNLIKELY(self.vforked || self.depth))
        return false;
    return LIKELY(*LOAD(&gate) == GATE_OPEN) || gate_slow();
}

#endif
