/* SPDX-License-Identifier: MIT
 *
 * Asking policy, and doing what it answers: the facts that it is given, the question, TCP_NODELAY.
 * Lock held, for all of these.
 */
#ifndef UNSTALL_DECIDE_H
#define UNSTALL_DECIDE_H

#include "coalesce_buffer.h"
#include "config.h"
#include "conn.h"
#include "ticker.h"

/* Set while the process ends or is replaced: nothing is held any more, so that what another thread
 * writes meanwhile is not left behind. */
extern bool hold_refused;

/* The only place that makes the limits.  The fast path has `now` and `ticker` already. */
static inline struct policy_limits decide_limits_now(const struct config *now, enum ticker_state ticker) {
    return (struct policy_limits){
        .small = now->small,
        .override = now->override,
        .may_hold = ticker_may_hold(ticker) && !now->no_syscalls && !LOAD(&hold_refused),
        .windowless = ticker_windowless(ticker),
    };
}
static inline struct policy_limits decide_limits(void) {
    return decide_limits_now(config(), ticker_state());
}

/* In coalesce: for a write that may be buffered.  Where it is so decided, buffer_put() has the room. */
static inline void decide_add_room(struct policy_limits *limits, const struct conn *c) {
    if (limits->may_hold)
        limits->room = buffer_room(c);
}
static inline struct policy_limits decide_limits_of_write(const struct conn *c) {
    struct policy_limits limits = decide_limits();
    if (c->policy.mode == MODE_COALESCE)
        decide_add_room(&limits, c);
    return limits;
}

/* What policy says of a write.  Facts that it lacks are asked of the kernel. */
struct policy_action decide_write(struct conn *c, const struct policy_limits *limits,
                                  const struct policy_write *w);
/* Does what the action asks for before the bytes leave through `fd`: TCP_NODELAY on, or as the
 * application has it. */
void decide_apply(struct conn *c, const struct policy_action *action, int fd);

/* Both at once.  `waiting` buffered bytes leave as a unit. */
void decide_release(struct conn *c, size_t waiting);
/* The application has taken its TCP_CORK off: the bytes behind it have left as a unit. */
void decide_uncork(struct conn *c);

#endif
