/* SPDX-License-Identifier: MIT */
#include "hold.h"

enum { KERNEL_ENDS_NS = 200000000 }; /* the kernel ends a hold after this time at the earliest */

void hold_learn_piece(struct conn *c) {
    if (!ticker_windowless(ticker_state()))
        return;
    uint64_t now = clock_now();
    policy_habit_piece(&c->policy, now - c->held_since);
    c->held_since = now;
    STORE(&c->turn_end, TURN_ENDS); /* the habit needs the end of the turn, too */
}

void hold_check_age_slow(struct conn *c) {
    uint64_t now = clock_coarse(), age = now - c->held_since;
    if (LIKELY(c->policy.mode == MODE_AUTO)) {
        if (LIKELY(age <= HOLD_LATE_NS) || age <= clock_coarse_surely(HOLD_LATE_NS))
            return;
        c->policy.nodelay_only = true;
        endpoint_set_nodelay_only(c->endpoint);
    } else if (c->policy.mode == MODE_CORK) {
        if (age > KERNEL_ENDS_NS)
            policy_window_ended(&c->policy, true);
        c->held_since = now;
    }
}
