/* SPDX-License-Identifier: MIT */
#include "turn.h"

enum { WEIGHT = 8 /* a new turn counts one eighth */ };

static unsigned slot(unsigned position) {
    return (position < TURN_POSITIONS ? position : TURN_POSITIONS) - 1;
}

static void lean(uint8_t *share, int towards) {
    if (*share == towards)
        return;
    if (*share == 0) {
        *share = (uint8_t)towards;
        return;
    }
    int step = (towards - *share) / WEIGHT;
    if (step == 0)
        step = (towards > *share) - (towards < *share);
    *share = (uint8_t)(*share + step);
}

void turn_learn(struct turn_model *model, unsigned writes) {
    unsigned last = slot(writes);
    for (unsigned i = 0; i < last; i++)
        lean(&model->ended[i], TURN_NEVER);
    /* the last slot stands for all later positions too: a longer turn did not end there */
    lean(&model->ended[last], writes > TURN_POSITIONS ? TURN_NEVER : TURN_ALWAYS);
}
