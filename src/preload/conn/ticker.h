/* SPDX-License-Identifier: MIT
 *
 * The state of the ticker (ticker_thread.h), which keeps the window, and the list of the
 * connections that hold.  A hold costs its caller one store if the connection is already on
 * the list, and a futex wake if the ticker is parked.
 */
#ifndef UNSTALL_TICKER_H
#define UNSTALL_TICKER_H

#include "conn.h"

enum ticker_state {
    TICKER_NONE,    /* not decided: the next hold may start a thread */
    TICKER_RUNS,    /* a thread keeps the window */
    TICKER_WITHOUT, /* no thread, until a connection of mode coalesce needs one */
    TICKER_NEVER,   /* no thread, for no mode */
    TICKER_STOPS,   /* the thread is about to end: nothing may be held */
    TICKER_REFUSED, /* no thread could be started: nothing may be held */
};

static inline bool ticker_may_hold(enum ticker_state state) {
    return state < TICKER_STOPS;
}

/* There is no window: the kernel's own timer bounds a hold. */
static inline bool ticker_windowless(enum ticker_state state) {
    return state == TICKER_WITHOUT || state == TICKER_NEVER;
}

extern INTERNAL int ticker_now; /* enum ticker_state */

static inline enum ticker_state ticker_state(void) {
    return (enum ticker_state)LOAD_ACQUIRE(&ticker_now);
}

/* True if the state must be decided before this connection may hold. */
static inline bool ticker_undecided(enum ticker_state state, const struct policy *p) {
    return state == TICKER_NONE ? policy_might_hold(p)
                                : state == TICKER_WITHOUT && p->mode == MODE_COALESCE;
}

extern INTERNAL uint64_t ticker_ticks; /* ticks so far, the present one included */

bool ticker_watch_slow(struct conn *c);
bool ticker_watch_without(struct conn *c);

/* The connection begins to hold, and the thread keeps its window.  Lock held. */
static inline bool ticker_watch_by_thread(struct conn *c, enum ticker_state state) {
    STORE(&c->held_since, LOAD(&ticker_ticks));
    /* a thread that is about to end releases all connections of its list, after this lock */
    return LIKELY(state == TICKER_RUNS) && (LIKELY(c->ticking) || ticker_watch_slow(c));
}

/* The connection begins to hold.  Lock held; called before the send.  False: nothing bounds
 * this hold, so the caller must release it. */
static inline bool ticker_watch(struct conn *c) {
    enum ticker_state state = ticker_state();
    return ticker_windowless(state) ? ticker_watch_without(c) : ticker_watch_by_thread(c, state);
}

/* The rest is for ticker_thread.c.  A stack of connections: callers push, the thread takes all. */
extern INTERNAL struct conn *ticker_incoming;
extern INTERNAL uint32_t ticker_parked; /* futex: 1 while the thread sleeps because nothing is held */
void ticker_unpark(void);

#endif
