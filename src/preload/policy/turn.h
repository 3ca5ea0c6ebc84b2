/* SPDX-License-Identifier: MIT
 *
 * Predicts the last write of a turn from the connection's earlier turns.  Pure: no
 * clock, no system call, no lock of its own (the connection's lock protects it).
 *
 * For each position in a turn the model keeps the share of turns that ended
 * there, as a moving average.  A correct prediction costs no added system call, a
 * wrong "last" one more segment, a wrong "more" one push.  A segment costs several
 * times a push (docs/kernel.md: 1.5 against 1.12 for the same exchange), therefore
 * "last" needs a high share.
 */
#ifndef UNSTALL_TURN_H
#define UNSTALL_TURN_H

#include "base.h"

enum {
    TURN_POSITIONS = 16,
    TURN_NEVER = 1, /* the share of a position at which no turn has ended for long, or each one has */
    TURN_ALWAYS = 255,
    TURN_LAST_BAR = 217, /* 85 %: see the costs above */
};

struct turn_model {
    uint8_t ended[TURN_POSITIONS]; /* 0: never seen; 1..255: share of turns that ended here */
};

enum turn_guess { TURN_UNKNOWN, TURN_MORE, TURN_LAST };

/* Predicts whether write number `position` (from 1) is the last of its turn; 0: no write yet. */
static inline enum turn_guess turn_predict(const struct turn_model *model, unsigned position) {
    if (position == 0)
        return TURN_UNKNOWN;
    uint8_t share = model->ended[(position < TURN_POSITIONS ? position : TURN_POSITIONS) - 1];
    if (share == 0)
        return TURN_UNKNOWN;
    return share >= TURN_LAST_BAR ? TURN_LAST : TURN_MORE;
}

/* A turn of `writes` writes (at least 1) has ended. */
void turn_learn(struct turn_model *model, unsigned writes);

#endif
