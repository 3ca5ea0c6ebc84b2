/* SPDX-License-Identifier: MIT
 *
 * Is a window kept (ticker_thread.h), and the list of the connections that hold.  A caller
 * pays one store a hold (its connection is on the list already), or a futex wake when the
 * ticker is parked.
 */
#ifndef UNSTALL_TICKER_H
#define UNSTALL_TICKER_H

#include "conn.h"

enum ticker_state {
    TICKER_NONE,    /* the next hold decides whether there is a thread */
    TICKER_RUNS,    /* a window is kept */
    TICKER_WITHOUT, /* none is wanted unless bytes are to be buffered */
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

extern int ticker_now; /* enum ticker_state */

static inline enum ticker_state ticker_state(void) {
    return (enum ticker_state)LOAD_ACQUIRE(&ticker_now);
}

/* Must be decided before a hold of this connection may begin? */
static inline bool ticker_undecided(enum ticker_state state, const struct policy *p) {
    return state == TICKER_NONE ? policy_might_hold(p)
                                : state == TICKER_WITHOUT && p->mode == MODE_COALESCE;
}

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

/* The rest is for the thread alone.  A stack of connections, pushed by holders, taken whole. */
extern struct conn *ticker_incoming;
extern uint32_t ticker_parked; /* futex: 1 while the thread sleeps for want of holds */
void ticker_unpark(void);

#endif
