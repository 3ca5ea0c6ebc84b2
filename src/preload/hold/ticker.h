/* SPDX-License-Identifier: MIT
 *
 * The window's thread: lets go of what a computing thread has held longer than
 * the window, and sends gathered bytes that the kernel did not take at once.
 *
 * When it exists (UNSTALL_THREAD): coalesce needs it, because bytes in a buffer that
 * nothing empties are lost.  Other modes have it in a program with threads of its own
 * only.  A program with a single thread stays one; there the kernel's own timer bounds a
 * hold (200 ms), and policy holds by a proved habit alone (policy_limits.windowless).
 *
 * It starts at the first hold (raw_thread.h), ticks only while something is held, and
 * ends when nothing was held for a moment.  A caller pays one store a hold (its
 * connection is on the list already), or a futex wake when the ticker is parked.
 *
 * Promise, where it exists: nothing is held longer than the window plus one tick and the
 * scheduler's delay.  The tick is the window (4 ms for longer windows), and 8 ms
 * while every hold ends by itself.
 */
#ifndef UNSTALL_TICKER_H
#define UNSTALL_TICKER_H

#include "conn.h"

enum ticker_state {
    TICKER_NONE,    /* the next hold decides whether there is a thread */
    TICKER_RUNS,    /* a window is kept */
    TICKER_WITHOUT, /* none is wanted unless bytes are to be gathered */
    TICKER_NEVER,   /* none is wanted at all */
    TICKER_STOPS,   /* it is being ended: nothing may be held */
    TICKER_REFUSED, /* none can be had: nothing may be held */
};

static inline bool ticker_may_hold(enum ticker_state state) {
    return state < TICKER_STOPS;
}

/* No window is kept: the kernel's own timer is the bound of a hold. */
static inline bool ticker_windowless(enum ticker_state state) {
    return state == TICKER_WITHOUT || state == TICKER_NEVER;
}

/* The process that has, or had, a window's thread; 0: none yet. */
extern int ticker_process;
extern int ticker_now; /* enum ticker_state */

static inline enum ticker_state ticker_state(void) {
    return (enum ticker_state)LOAD_ACQUIRE(&ticker_now);
}

/* Must be decided before a hold of this connection may begin? */
static inline bool ticker_undecided(enum ticker_state state, const struct policy *p) {
    return state == TICKER_NONE ? policy_might_hold(p)
                                : state == TICKER_WITHOUT && p->mode == MODE_COALESCE;
}

/* Decide, before the first hold, or before the first gathering: start the thread, if it is
 * wanted.  Takes no connection's lock and must not be called under one. */
void ticker_decide(bool gathers);

extern uint64_t ticker_ticks; /* that were, and the one under way */

bool ticker_watch_slow(struct conn *c);
bool ticker_watch_without(struct conn *c);

/* The connection has begun to hold.  Lock held; before the bytes are sent.  False: nothing
 * bounds this hold, the holder lets go itself. */
static inline bool ticker_watch(struct conn *c) {
    enum ticker_state state = ticker_state();
    if (ticker_windowless(state))
        return ticker_watch_without(c);
    STORE(&c->held_since, LOAD(&ticker_ticks));
    /* on the list of a thread that is about to end, it is let go behind this lock */
    return LIKELY(state == TICKER_RUNS) && (LIKELY(c->ticking) || ticker_watch_slow(c));
}

/* End the thread and wait for its end; the next hold decides anew. */
void ticker_stop(void);

/* The same, and none is started until ticker_unbar(), which is given the result. */
uint32_t ticker_bar(void);
void ticker_unbar(uint32_t barred);

/* The number of tasks of this process; 0: it cannot be told. */
unsigned ticker_tasks(void);

/* The program has a thread of its own now: the next hold decides anew. */
void ticker_threads_seen(void);

/* The calling thread leaves by SYS_exit.  libc counts it on, so it will not end the process
 * behind the last of the others: from now on each thread's end stops ours. */
void ticker_task_exits(void);
void ticker_thread_ends(void);

/* In the child of a fork: there is one thread. */
void ticker_forked(void);

#endif
