/* SPDX-License-Identifier: MIT
 *
 * What this thread holds, and letting it go: the open turn of a thread, its end
 * before anything that may wait, and the push.
 *
 * A thread has at most one open turn, on one connection: writing to another
 * descriptor that could block ends it.  So "does this thread hold anything" is
 * one thread-local load.
 */
#ifndef UNSTALL_HOLD_H
#define UNSTALL_HOLD_H

#include <unistd.h>

#include "conn.h"
#include "hold_habit.h"
#include "endpoint_cache.h"
#include "policy_inline.h"
#include "thread_end.h"
#include "ticker.h"

void hold_end_turn_slow(enum push_cause cause);

/* Before any call that could block. */
static inline void hold_end_turn(enum push_cause cause) {
    if (UNLIKELY(self.turn != NULL))
        hold_end_turn_slow(cause);
}

/* The open turn of this thread ends at a read of its own connection `c`: where nothing is
 * held there is nothing to do but to learn, which waits for the next lock, so that a
 * well-behaved program pays for none here.  False: hold_end_turn().  A push that somebody
 * else has begun is under way while he has the lock; handlers go by reentry.h meanwhile. */
static inline bool hold_leaves_turn(struct conn *c) {
    self.depth++;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bool leaves = self.turn == c && LOAD(&c->turn_end) == TURN_MAY_LEAVE &&
                  !LOAD_ACQUIRE(&c->held) && !LOAD_ACQUIRE(&c->buffer) && (LOAD(&c->lock) & 3) == 0;
    if (LIKELY(leaves)) {
        STORE(&c->turn_end, TURN_LEFT);
        self.turn = NULL;
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.depth--;
    return leaves;
}

/* May an argument of the caller's be looked at, to decide about the open turn?  Only where a
 * decision depends on it: never in off and observe. */
static inline bool hold_looks(void) {
    const struct conn *c = LOAD(&self.turn);
    return c && mode_cures((enum mode)LOAD(&c->policy.mode));
}

/* Would keeping the open turn of this thread whole be worth something: it holds
 * bytes (in the kernel or buffered), or its connection was cured by us? */
bool hold_could_go_on(void);

/* Before a wait for readiness.  True: ask first, by the same wait with timeout
 * zero, and say hold_asked(); if nothing came back, hold_end_turn() and wait.
 * False: go on, the turn has ended where it had to. */
bool hold_before_poll(bool only_writable);
void hold_asked(bool at_once);

/* Does the open turn have buffered bytes? */
static inline bool hold_buffers(void) {
    struct conn *c = LOAD(&self.turn);
    return c && LOAD(&c->buffer) != NULL;
}

/* In coalesce: before an act that others can see.  Buffered bytes leave; what
 * the kernel holds may stay. */
void hold_before_visible(void);

void hold_turn_taken_over(struct conn *c);
bool hold_wait_was_quick(struct conn *c);

/* The turn is over: it teaches what it was.  Lock held. */
static inline void hold_turn_teaches(struct conn *c) {
    c->turn_owner = NULL;
    STORE(&c->turn_end, TURN_ENDS);
    policy_turn_ends(&c->policy);
    if (endpoint_update_is_due(c))
        endpoint_update(c);
}

/* A write has joined the turn of this thread on c (lock held): opens the turn
 * if need be. */
static inline void hold_join_turn(struct conn *c) {
    struct policy *p = &c->policy;
    if (c->turn_owner != &self || self.turn != c) {
        if (UNLIKELY(c->turn_owner != NULL))
            hold_turn_taken_over(c);
        c->turn_owner = &self;
        self.turn = c;
        c->counts.turns++;
        STORE(&c->turn_end, endpoint_update_is_due(c) ? TURN_ENDS : TURN_MAY_LEAVE);
        policy_turn_begins(p, c->wait_began && hold_wait_was_quick(c));
        if (UNLIKELY(LOAD(&endpoint_nodelay_only[c->endpoint])))
            p->nodelay_only = true;
    }
    if (UNLIKELY(c->held))
        hold_check_age(c);
    if (p->position < UINT16_MAX)
        p->position++;
    if (UNLIKELY(policy_learns_habit(p)))
        hold_learn_piece(c);
    if (UNLIKELY(!self.ends_watched) && p->mode >= MODE_CORK)
        hold_watch_thread_end();
}

/* The turn of this thread on c goes on, though it was ended meanwhile. */
void hold_resume_turn(struct conn *c);

/* Lock held, for all of these. */
void hold_push(struct conn *c, enum push_cause cause);
/* The same where what stays behind would be lost or overtaken (fork, exec, the
 * end of the sending side): waits for room as the application's own write would
 * have done, but no longer than a second.  The lock is released meanwhile. */
void hold_push_all(struct conn *c, enum push_cause cause);
void hold_window_ends(struct conn *c);
/* TCP_NODELAY=1 now (the late push).  0 or -errno. */
int hold_set_nodelay(struct conn *c, int fd);
/* TCP_NODELAY as the application has it.  Counted, for who sets it at the same time. */
extern uint32_t hold_restores;
void hold_restore(struct conn *c);

/* Writes happen here that we do not see: TCP_NODELAY, and never a hold. */
void hold_untrack(struct conn *c);
/* The numbers of stdio's streams: a connection that is one of them is untracked. */
static inline bool hold_is_stdio(int fd) {
    return (unsigned)fd <= STDERR_FILENO;
}
/* The value of SO_TIMESTAMPING or one of its like: is it on?  TCP_NOTSENT_LOWAT is off with -1. */
static inline bool hold_tells_apart(int value) {
    return value != 0 && value != -1;
}

/* The MSS, and the application's options where they are not known: asked once. */
void hold_ask_facts(struct conn *c);
/* Another process may have set our options back: doubt what we know. */
void hold_nodelay_uncertain(struct conn *c);

/* Anything was ever held, or any option set, in this process. */
extern bool hold_acted;

#endif
