/* SPDX-License-Identifier: MIT */
#include "decide.h"

#include "fds.h"
#include "hold.h"
#include "kernel.h"

bool hold_refused;

/* Asks policy, and again once the kernel has given the facts that it misses. */
#define ASK(c, action, question)             \
    do {                                     \
        (action) = (question);               \
        if (UNLIKELY((action).need_facts)) { \
            hold_ask_facts(c);               \
            (action) = (question);           \
        }                                    \
    } while (0)

struct policy_action decide_write(struct conn *c, const struct policy_limits *limits,
                                  const struct policy_write *w) {
    struct policy_action action;
    ASK(c, action, policy_write(&c->policy, limits, w));
    return action;
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
        hold_set_nodelay(c, fds_word(fd) == (uintptr_t)c ? fd : c->fd); /* else a handler has closed it */
        c->counts.late_pushes++;
    }
}

void decide_release(struct conn *c, size_t waiting) {
    struct policy_limits limits = decide_limits();
    struct policy_action action;
    ASK(c, action, policy_release(&c->policy, &limits, waiting));
    decide_apply(c, &action, c->fd);
}

void decide_uncork(struct conn *c) {
    struct policy_limits limits = decide_limits();
    struct policy_action action;
    ASK(c, action, policy_uncork(&c->policy, &limits));
    decide_apply(c, &action, c->fd);
}
