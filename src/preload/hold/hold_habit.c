/* SPDX-License-Identifier: MIT */
#include "hold_habit.h"

#include "clock.h"
#include "endpoint_cache.h"

enum {
    LATE_NS = 5000000,          /* a hold without a window that lasted longer was no habit's */
    KERNEL_ENDS_NS = 200000000, /* the least after which the kernel lets go by itself */
};

void hold_learn_piece(struct conn *c) {
    if (!ticker_windowless(ticker_state()))
        return;
    uint64_t now = clock_now();
    policy_habit_piece(&c->policy, now - c->held_since);
    c->held_since = now;
    STORE(&c->turn_end, TURN_ENDS); /* its end is to be seen, too */
}

void hold_check_age_slow(struct conn *c) {
    uint64_t now = clock_coarse(), age = now - c->held_since;
    if (c->policy.mode == MODE_AUTO && age > clock_coarse_surely(LATE_NS)) {
        c->policy.nodelay_only = true;
        endpoint_set_nodelay_only(c->endpoint);
    } else if (c->policy.mode == MODE_CORK) {
        if (age > KERNEL_ENDS_NS)
            policy_kernel_ended(&c->policy);
        c->held_since = now;
    }
}
