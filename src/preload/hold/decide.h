/* SPDX-License-Identifier: MIT
 *
 * Asks policy with the facts that it needs, and applies its decision to TCP_NODELAY.
 * The caller of each function holds the connection's lock.
 */
#ifndef UNSTALL_DECIDE_H
#define UNSTALL_DECIDE_H

#include "coalesce_buffer.h"
#include "config.h"
#include "conn.h"
#include "ticker.h"

/* True while the process ends or is replaced (exec).  The library then holds nothing, so that no bytes
 * of another thread's write are lost. */
extern INTERNAL bool hold_refused;

/* True: neither the configuration nor the end of the process forbids holds. */
static inline bool decide_allows_holds(const struct config *now) {
    return !now->no_syscalls && !LOAD(&hold_refused);
}

/* The only function that makes the limits.  The fast path already has `now` and `ticker`. */
static inline struct policy_limits decide_limits_now(const struct config *now, enum ticker_state ticker) {
    return (struct policy_limits){
        .small = now->small,
        .override = now->override,
        .may_hold = ticker_may_hold(ticker) && decide_allows_holds(now),
        .windowless = ticker_windowless(ticker),
    };
}
static inline struct policy_limits decide_limits(void) {
    return decide_limits_now(config(), ticker_state());
}

/* In mode coalesce, for a write that may be buffered.  If policy decides to buffer, buffer_put() has
 * room for the write. */
static inline void decide_add_room(struct policy_limits *limits, const struct conn *c) {
    if (limits->may_hold)
        limits->room = buffer_room(c);
}
static inline struct policy_limits decide_limits_of_write(const struct conn *c) {
    struct policy_limits limits = decide_limits();
    if (policy_buffers(&c->policy))
        decide_add_room(&limits, c);
    return limits;
}

/* Returns the policy's decision about a write.  Asks the kernel for missing facts. */
struct policy_action decide_write(struct conn *c, const struct policy_limits *limits,
                                  const struct policy_write *w);
/* Applies the action before the bytes leave through `fd`: sets TCP_NODELAY, or restores the
 * application's value. */
void decide_apply(struct conn *c, const struct policy_action *action, int fd);

/* ---- a message that begins while bytes of the message before are unacknowledged --------------
 *
 * A program that reads requests one by one and answers each by one small write stalls at the second answer if
 * its peer has two requests under way, and no message has two writes.  Only the kernel knows that the bytes
 * before are unacknowledged; policy tells when to ask (policy_asks_crossing).  That alone is no stall: the
 * acknowledgement may come at once.  So the first time the delay must be seen: the next input came after the
 * write had been held for PROOF_LEAST_MS or more.  Then the connection gets TCP_NODELAY, and the next one of
 * the same endpoint at its first such write. */

/* Before the write that policy has marked as `crossing` leaves by fd. */
void decide_crossing(struct conn *c, int fd);
/* The same after the write. */
void decide_crossed(struct conn *c, int fd);
/* Input has come, before policy_input(). */
void decide_crossing_slow(struct conn *c);
static inline void decide_crossing_answered(struct conn *c) {
    if (UNLIKELY(c->crossed_ms))
        decide_crossing_slow(c);
}

/* Decides and applies.  `waiting` buffered bytes leave as a unit. */
void decide_release(struct conn *c, size_t waiting);
/* The application has cleared TCP_CORK: the bytes that it held have left as a unit. */
void decide_uncork(struct conn *c);

#endif
