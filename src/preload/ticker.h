/* SPDX-License-Identifier: MIT
 *
 * The window's thread: lets go of what a computing thread has held longer than
 * the window, and sends gathered bytes that the kernel did not take at once.
 *
 * It is made by pthread_create at the first hold, with all signals blocked and
 * a timer slack of 1 ns; it ticks only while something is held and parks in a
 * futex otherwise.  A caller pays one store a hold (its connection is on the
 * list already), or a futex wake when the ticker is parked.
 *
 * Promise: nothing is held longer than the window plus one tick and the
 * scheduler's delay.  The tick is the window (4 ms for longer windows), and 8 ms
 * while every hold ends by itself.
 */
#ifndef UNSTALL_TICKER_H
#define UNSTALL_TICKER_H

#include "conn.h"

/* Can a window be kept?  Starts the thread if there is none.  Takes no
 * connection's lock and must not be called under one. */
bool ticker_ready(void);

/* Cheap: is the thread there (or known to be impossible)? */
enum ticker_state { TICKER_NONE, TICKER_RUNS, TICKER_IMPOSSIBLE };

/* The process that has, or had, a window's thread; 0: none yet. */
extern int ticker_process;
extern int ticker_now; /* enum ticker_state */

static inline enum ticker_state ticker_state(void) {
    return (enum ticker_state)LOAD_ACQUIRE(&ticker_now);
}

extern uint64_t ticker_ticks; /* that were, and the one under way */

bool ticker_watch_slow(struct conn *c);

/* The connection has begun to hold.  Lock held; before the bytes are sent.  False: the
 * thread is being ended, or has been: nobody will look, the holder lets go itself. */
static inline bool ticker_watch(struct conn *c) {
    STORE(&c->held_tick, LOAD(&ticker_ticks));
    return LIKELY(c->ticking) || ticker_watch_slow(c);
}

/* End the thread and wait for its end; the next hold starts another.  With
 * `forever` none is started again: holds are then impossible. */
void ticker_stop(bool forever);

/* The same, and none is started until ticker_unbar(), which is given the result. */
uint32_t ticker_bar(void);
void ticker_unbar(uint32_t barred);

/* In the child of a fork: there is no thread; may another be started? */
void ticker_forked(bool may_start);

#endif
