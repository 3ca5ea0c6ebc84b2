/* SPDX-License-Identifier: MIT
 *
 * The state of the window's thread (window.h), which keeps the window, and the list of the
 * connections that hold.  A hold costs its caller one store if the connection is already on
 * the list, and a futex wake if the window's thread is parked.
 */
#ifndef UNSTALL_WINDOW_STATE_H
#define UNSTALL_WINDOW_STATE_H

#include "conn.h"

enum window_state {
    WINDOW_NONE,    /* not decided: the next hold may start a thread */
    WINDOW_RUNS,    /* a thread keeps the window */
    WINDOW_WITHOUT, /* no thread, until a connection of mode coalesce needs one */
    WINDOW_NEVER,   /* no thread, for no mode */
    WINDOW_STOPS,   /* the thread is about to end: nothing may be held */
    WINDOW_REFUSED, /* no thread could be started: nothing may be held */
};

static inline bool window_may_hold(enum window_state state) {
    return state < WINDOW_STOPS;
}

/* There is no window: the kernel's own timer bounds a hold. */
static inline bool window_windowless(enum window_state state) {
    return state == WINDOW_WITHOUT || state == WINDOW_NEVER;
}

extern INTERNAL int window_now; /* enum window_state */

static inline enum window_state window_state(void) {
    return (enum window_state)LOAD_ACQUIRE(&window_now);
}

/* True if the state must be decided before this connection may hold. */
static inline bool window_undecided(enum window_state state, const struct policy *p) {
    return state == WINDOW_NONE ? policy_might_hold(p)
                                : state == WINDOW_WITHOUT && p->mode == MODE_COALESCE;
}

extern INTERNAL window_tick window_ticks; /* ticks so far, the present one included */

bool window_watch_slow(struct conn *c);
bool window_watch_without(struct conn *c);

/* The connection begins to hold, and the thread keeps its window.  Lock held. */
static inline bool window_watch_by_thread(struct conn *c, enum window_state state) {
    STORE(&c->held_tick, LOAD(&window_ticks));
    /* a thread that is about to end releases all connections of its list, after this lock */
    return LIKELY(state == WINDOW_RUNS) && (LIKELY(c->ticking) || window_watch_slow(c));
}

/* The connection begins to hold.  Lock held; called before the send.  False: nothing bounds
 * this hold, so the caller must release it. */
static inline bool window_watch(struct conn *c) {
    enum window_state state = window_state();
    return window_windowless(state) ? window_watch_without(c) : window_watch_by_thread(c, state);
}

/* The rest is for window.c.  A stack of connections: callers push, the thread takes all. */
extern INTERNAL struct conn *window_incoming;
extern INTERNAL uint32_t window_parked; /* futex: 1 while the thread sleeps because nothing is held */
void window_unpark(void);

#endif
