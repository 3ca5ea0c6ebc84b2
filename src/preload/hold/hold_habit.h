/* SPDX-License-Identifier: MIT
 *
 * Holds where no thread keeps a window: by what a connection has the habit of.  Lock held,
 * for all of these.
 */
#ifndef UNSTALL_HOLD_HABIT_H
#define UNSTALL_HOLD_HABIT_H

#include "ticker.h"

/* Without a window: the habit of a connection on which nothing is held yet. */
void hold_learn_piece(struct conn *c);

/* Without a window: a hold ends, or another write joins it, which is to be decided by this (lock held).
 * In auto, one that was no habit's makes its endpoint one of TCP_NODELAY alone; in cork, several in a row
 * that the kernel had to end make the connection one: its waits do not pass by us. */
void hold_check_age_slow(struct conn *c);
static inline void hold_check_age(struct conn *c) {
    if (ticker_windowless(ticker_state()))
        hold_check_age_slow(c);
}

#endif
