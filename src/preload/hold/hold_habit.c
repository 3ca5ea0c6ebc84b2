/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "hold.h"
#include "kernel.h"

enum {
    KERNEL_ENDS_NS = 200000000, /* the kernel ends a hold after this time at the earliest */
    MOST_LOST = 2,              /* times that others had the processor during a hold */
};

void hold_learn_piece(struct conn *c) {
    if (!ticker_windowless(ticker_state()))
        return;
    uint64_t now = clock_now();
    policy_habit_piece(&c->policy, now - c->held_since);
    c->held_since = now;
    STORE(&c->turn_end, TURN_ENDS); /* the habit needs the end of the turn, too */
}

/* Since the hold began, the thread lost its processor to others once or twice, and has neither waited nor
 * computed for longer than a hold may last.  A program that waits by sched_yield(2) loses it more often. */
static bool was_preempted(const struct conn *c) {
    const struct kernel_usage *then = &self.hold.used;
    struct kernel_usage now;
    return self.hold.of == c && self.hold.since == c->held_since && !config()->no_syscalls &&
           kernel->usage(&now) == 0 && now.waits == then->waits && now.lost - then->lost - 1 < MOST_LOST &&
           now.cpu_ns - then->cpu_ns <= HOLD_LATE_NS;
}

/* A hold was late.  Where a write joins the first one of an endpoint, from then on the library can tell a
 * program that computes from a busy machine.  True: the habit goes on. */
static bool goes_on_after_late(struct conn *c, bool joined) {
    if (joined && was_preempted(c))
        return true;
    if (joined && c->endpoint && !LOAD(&endpoint_late[c->endpoint].any)) {
        STORE(&endpoint_late[c->endpoint].watched, true);
        c->policy.quick_turns = 0;
        c->held_since = clock_coarse(); /* this hold does not count again */
    } else {
        if (c->endpoint)
            STORE(&endpoint_late[c->endpoint].nodelay_only, true);
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
