/* SPDX-License-Identifier: MIT */
#include "decide.h"

#include "hold.h"
#include "kernel.h"

bool hold_refused;

enum question { OF_WRITE, OF_RELEASE, OF_UNCORK };

static struct policy_action ask_policy(struct policy *p, const struct policy_limits *limits,
                                       enum question question, const struct policy_write *w) {
    switch (question) {
    case OF_RELEASE: return policy_release(p, limits, w->bytes);
    case OF_UNCORK: return policy_uncork(p, limits);
    default: return policy_write(p, limits, w);
    }
}

static inline struct policy_action decide(struct conn *c, const struct policy_limits *limits,
                                          enum question question, const struct policy_write *w) {
    struct policy_action action = ask_policy(&c->policy, limits, question, w);
    if (UNLIKELY(action.need_facts)) {
        hold_ask_facts(c);
        action = ask_policy(&c->policy, limits, question, w);
    }
    return action;
}

struct policy_action decide_write(struct conn *c, const struct policy_limits *limits,
                                  const struct policy_write *w) {
    return decide(c, limits, OF_WRITE, w);
}

/* The library saw no input.  The kernel's count shows whether none came, or another reader took it. */
static bool input_came_unseen(struct conn *c) {
    struct kernel_tcp_info info;
    if (kernel->tcp_info(c->fd, &info) != 0 || info.bytes_received == 0)
        return false;
    c->policy.input_ever = true;
    c->policy.one_way = false;
    return true;
}

void decide_apply(struct conn *c, const struct policy_action *action, int fd) {
    if (UNLIKELY(action->back_to_app) && !input_came_unseen(c))
        hold_restore(c);
    if (UNLIKELY(action->late_push)) {
        hold_set_nodelay(c, fd);
        c->counts.late_pushes++;
    }
}

static void decide_and_apply(struct conn *c, enum question question, size_t bytes) {
    struct policy_limits limits = decide_limits();
    struct policy_action action = decide(c, &limits, question, &(struct policy_write){.bytes = bytes});
    decide_apply(c, &action, c->fd);
}

void decide_release(struct conn *c, size_t waiting) {
    decide_and_apply(c, OF_RELEASE, waiting);
}

void decide_uncork(struct conn *c) {
    decide_and_apply(c, OF_UNCORK, 0);
}
