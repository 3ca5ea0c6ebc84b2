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

/* Another program had the processor: since the hold began, this thread has neither computed for longer than a
 * hold may last, nor waited. */
static bool was_preempted(const struct conn *c) {
    struct kernel_usage now;
    return self.hold.of == c && self.hold.since == c->held_since && kernel->usage(&now) == 0 &&
           now.waits == self.hold.used.waits && now.cpu_ns - self.hold.used.cpu_ns <= HOLD_LATE_NS;
}

/* A hold was late.  Where a write joins it, its message is not: the first such hold of an endpoint costs its
 * connection the habit, and from then on the library can tell a program that computes from a busy machine.
 * True: the habit goes on. */
static bool goes_on_after_late(struct conn *c, bool joined) {
    if (was_preempted(c))
        return true;
    if (c->policy.quick_turns < HABIT)
        return false; /* this hold has ended it already */
    if (joined && c->endpoint && endpoint_trust_of(c) == ENDPOINT_TRUSTED) {
        endpoint_set_trust(c->endpoint, ENDPOINT_WATCHED);
        c->policy.quick_turns = 0;
    } else {
        endpoint_set_trust(c->endpoint, ENDPOINT_NODELAY_ONLY);
        c->policy.nodelay_only = true;
    }
    return false;
}

bool hold_check_age_slow(struct conn *c, bool joined) {
    uint64_t now = clock_coarse(), age = now - c->held_since;
    if (LIKELY(c->policy.mode == MODE_AUTO)) {
        return LIKELY(age <= HOLD_LATE_NS) || age <= clock_coarse_surely(HOLD_LATE_NS) ||
               goes_on_after_late(c, joined);
    } else if (c->policy.mode == MODE_CORK) {
        if (age > KERNEL_ENDS_NS)
            policy_window_ended(&c->policy, true);
        c->held_since = now;
    }
    return true;
}
