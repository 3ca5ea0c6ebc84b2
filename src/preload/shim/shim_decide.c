/* SPDX-License-Identifier: MIT
 *
 * Asking policy about a write, and what it asks for before the write.
 */
#include "kernel.h"
#include "shim_parts.h"
#include "tally.h"

struct policy_action shim_decide(struct conn *c, const struct policy_limits *limits,
                                 const struct policy_write *w) {
    struct policy_action action = policy_write(&c->policy, limits, w);
    if (UNLIKELY(action.need_facts)) {
        hold_ask_facts(c);
        action = policy_write(&c->policy, limits, w);
    }
    return action;
}

void shim_account(struct conn *c, const struct policy_action *action, size_t bytes) {
    c->counts.writes++;
    c->counts.bytes += bytes;
    c->counts.messages += action->new_message;
    c->counts.bursts += action->burst;
    c->counts.suspected += action->suspected;
    if (UNLIKELY(c->evidence != NULL))
        tally_written(c, action);
}

/* No input was seen: did none come, or is it read where we cannot see it? */
static bool nobody_answers(struct conn *c) {
    struct kernel_tcp_info segments;
    if (kernel->segments(c->fd, &segments) != 0 || segments.bytes_received == 0)
        return true;
    c->policy.input_ever = true;
    c->policy.one_way = false;
    return false;
}

void shim_prepare(struct conn *c, const struct policy_action *action, int fd) {
    if (UNLIKELY(action->back_to_app) && nobody_answers(c))
        hold_restore(c);
    if (UNLIKELY(action->late_push)) {
        hold_set_nodelay(c, fd);
        c->counts.late_pushes++;
    }
}
