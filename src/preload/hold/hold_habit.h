/* SPDX-License-Identifier: MIT
 *
 * Holds without a thread that keeps the window: they rely on the habit of the connection.  The
 * caller of each function holds the lock.
 */
#ifndef UNSTALL_HOLD_HABIT_H
#define UNSTALL_HOLD_HABIT_H

#include "clock.h"
#include "ticker.h"

enum { HOLD_LATE_NS = 5000000 }; /* without a window, a longer hold did not fit the habit */

/* Without a window: learns the habit of a connection that has no held bytes yet. */
void hold_learn_piece(struct conn *c);

/* Without a window: checks the age of a hold when it ends, or before the decision about a write that joins
 * it.  In mode auto, a hold that was too long sets its endpoint to TCP_NODELAY only.  In mode cork, several
 * holds in a row that the kernel ended set the connection to TCP_NODELAY only: the library does not see
 * the waits of its program. */
void hold_check_age_slow(struct conn *c);
static inline void hold_check_age(struct conn *c) {
    if (ticker_windowless(ticker_state()))
        hold_check_age_slow(c);
}

/* The same in mode auto.  True: the habit goes on. */
static inline bool hold_is_young(struct conn *c) {
    if (!ticker_windowless(ticker_state()) || LIKELY(clock_coarse() - c->held_since <= HOLD_LATE_NS))
        return true;
    hold_check_age_slow(c);
    return !c->policy.nodelay_only;
}

#endif
