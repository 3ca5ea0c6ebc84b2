/* SPDX-License-Identifier: MIT
 *
 * Holds and pushes: the open turn of a thread, its end before any call that may
 * block, the decision about a write, and the push; then the ends of connections.
 *
 * A thread has at most one open turn, on one connection: so one thread-local load shows whether it may hold
 * bytes.
 */
#ifndef UNSTALL_TURN_H
#define UNSTALL_TURN_H

#include <unistd.h>

#include "clock.h"
#include "coalesce_buffer.h"
#include "window.h"

/* ---- holds without a thread that keeps the window; lock held ------------ */

enum { HOLD_LATE_NS = 5000000 }; /* without a window, a longer hold did not fit the habit */

/* Without a window: learns the habit of a connection that has no held bytes yet. */
void hold_learn_piece(struct conn *c);

/* Without a window: checks the age of a hold when a push ends it, or when a write joins it.  In auto, a hold
 * that was too long ends the connection's habit, and often that of its endpoint.  In cork, several in a row
 * that the kernel ended set the connection to TCP_NODELAY only. */
void hold_check_age(struct conn *c, bool joined);

/* ---- the end of a thread is the end of its turn, too ------------------ */

/* Makes the key by which the ends of threads are seen: at the start in the modes that cure, before the
 * program makes many keys; else at the first need.  Without one of the first 32 keys no end is seen. */
void hold_watches_ends(void);

/* The calling thread ends (pthread_exit, cancellation, return). */
void hold_thread_ends(void);

/* ---- turns ------------------------------------------------------------- */

/* Where the lock cannot be had, the turn is over for this thread, and what it holds leaves at the unlock. */
void hold_end_turn_slow(enum push_cause cause);

/* Runs before any call that could block. */
static inline void hold_end_turn(enum push_cause cause) {
    if (UNLIKELY(self.turn != NULL))
        hold_end_turn_slow(cause);
}

/* The open turn of this thread ends at a read of its own connection `c`, or at a wait.  True: nothing is
 * held, so the turn has ended without the lock, and policy learns from it at the next lock.  A program
 * that writes each message in one call takes no lock here.  False: call hold_end_turn().  The
 * check of the lock makes this thread wait for a push by another thread.  A signal handler that
 * interrupts this function goes by reentry.h. */
INLINE bool hold_end_turn_unlocked(struct conn *c) {
    self.frame = stack_pointer();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.depth = 1; /* the caller has asked gate_enter(): this thread is in no section */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bool ends = LOAD(&c->turn_end) == TURN_MAY_END_UNLOCKED && self.turn == c && !LOAD_ACQUIRE(&c->held) &&
                !LOAD_ACQUIRE(&c->buffer) && (LOAD(&c->lock) & 3) == 0;
    if (LIKELY(ends)) {
        STORE(&c->turn_end, TURN_ENDED_UNLOCKED);
        self.turn = NULL;
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.depth = 0;
    return ends;
}

/* True: the library may read an argument of the caller, because a decision about the open turn
 * depends on it.  Always false in modes off and observe. */
static inline bool hold_looks(void) {
    const struct conn *c = LOAD(&self.turn);
    return c && mode_cures((enum mode)LOAD(&c->policy.mode));
}

/* True: the open turn of this thread should go on if it can.  It holds bytes (in the
 * kernel or buffered), or auto has cured its connection. */
bool hold_could_go_on(void);

/* Runs before a wait for readiness.  True: first make the same wait with timeout
 * zero and report its result by hold_asked(); if nothing is ready, call
 * hold_end_turn() and wait.  False: wait at once; the turn has ended if necessary. */
bool hold_before_poll(bool only_writable);
void hold_asked(bool at_once);

/* Runs after a wait for readiness.  If it is timed (self.read_began), it and not the program's way from there
 * to the read tells whether the input was there already: of Python that way takes 10 us or more. */
enum { AT_ONCE_NS = 8000 };
void hold_wait_was_timed(void);
static inline int hold_waited(int result) {
    if (UNLIKELY(self.read_began != 0))
        hold_wait_was_timed();
    return result;
}

/* Runs before a signal, which may stop or end this process.  Sends the buffered bytes of this thread's turn;
 * bytes that the kernel holds may stay. */
void hold_before_signal(void);

void hold_turn_taken_over(struct conn *c);
bool hold_wait_was_quick(struct conn *c);

/* The turn is over: policy and the endpoint cache learn from it.  Lock held. */
static inline void hold_finish_turn(struct conn *c) {
    STORE(&c->turn_owner, NULL);
    STORE(&c->turn_end, TURN_ENDS);
    policy_turn_ends(&c->policy);
    if (endpoint_update_is_due(c))
        endpoint_update(c);
}

/* A second thread writes to c: from now on coalesce joins in the kernel, because this thread's bytes could
 * stand behind buffered bytes of one that is stopped inside our lock. */
void hold_two_write(struct conn *c);

/* This thread's turn will be on c.  Since it was asked whether another one is open, a handler may have opened
 * one: nobody would end it any more, so its bytes leave.  Lock of c held; the other one is not waited for. */
void hold_give_up_other(const struct conn *c);

/* This thread opens a turn on c.  Lock held. */
static inline void hold_open_turn(struct conn *c) {
    if (UNLIKELY(policy_buffers(&c->policy)) && c->writer != self.tag)
        hold_two_write(c);
    STORE(&c->turn_owner, &self);
    self.turn = c;
    c->counts.turns++;
    STORE(&c->turn_end, endpoint_update_is_due(c) ? TURN_ENDS : TURN_MAY_END_UNLOCKED);
    if (UNLIKELY(LOAD(&endpoint_late[c->endpoint].nodelay_only)))
        c->policy.nodelay_only = true;
}

/* A write joins the turn of this thread on c; opens the turn if necessary.  Lock held. */
INLINE void hold_join_turn(struct conn *c) {
    struct policy *p = &c->policy;
    if (UNLIKELY(c->held))
        hold_check_age(c, true);
    if (c->turn_owner != &self || self.turn != c) {
        if (UNLIKELY(c->turn_owner != NULL))
            hold_turn_taken_over(c);
        hold_open_turn(c);
        policy_turn_begins(p, c->wait_began && hold_wait_was_quick(c));
    }
    if (p->position < UINT16_MAX)
        p->position++;
    if (UNLIKELY(policy_learns_habit(p)))
        hold_learn_piece(c);
    if (UNLIKELY(!self.ends_watched) && p->mode >= MODE_CORK)
        thread_may_lock();
}

/* The turn of this thread on c goes on, although it has ended meanwhile. */
void hold_resume_turn(struct conn *c);

/* The caller of each function below holds the lock. */
void hold_push(struct conn *c, enum push_cause cause);
/* The same before an event at which unsent bytes of c would be lost or overtaken (the end of the sending
 * side).  Waits for room as the application's write would have done, but at most one second.  The
 * lock is released meanwhile; false: it could not be had again. */
__attribute__((warn_unused_result)) bool hold_push_all(struct conn *c, enum push_cause cause);
/* The same of all connections and threads, before forks, programs, filters and the end: one second for all of
 * them together, and once for the same bytes, because they stay and their peer may never read.  `last`: they
 * would be lost, so they are waited for again.  The caller holds no lock. */
void hold_push_buffers(bool last);
void hold_window_ends(struct conn *c);
/* Sets TCP_NODELAY now (the late push).  Returns 0 or -errno. */
int hold_set_nodelay(struct conn *c, int fd);
/* Restores the application's value of TCP_NODELAY.  hold_restores counts the calls: a thread in
 * which the application sets the option can thus notice a restore at the same time. */
extern INTERNAL uint32_t hold_restores;
void hold_restore(struct conn *c);

/* The connection has untracked I/O: it gets TCP_NODELAY and is never held. */
void hold_untrack(struct conn *c);
/* True: fd is a standard stream (0 to 2).  A connection on it has untracked I/O. */
static inline bool hold_is_stdio(int fd) {
    return (unsigned)fd <= STDERR_FILENO;
}
/* True: SO_TIMESTAMPING, SO_ZEROCOPY or TCP_NOTSENT_LOWAT is on with this value; -1 turns the last off. */
static inline bool hold_tells_apart(int value) {
    return value != 0 && value != -1;
}

/* Asks the kernel for the MSS and for unknown options of the application, once. */
void hold_ask_facts(struct conn *c);
/* Another process may have restored TCP_NODELAY: marks the known value as uncertain. */
void hold_nodelay_uncertain(struct conn *c);

/* True once this process has held bytes or set an option. */
extern INTERNAL bool hold_acted;

/* ---- the decision about a write -----------------------------------------
 *
 * Asks policy with the facts that it needs, and applies its decision to TCP_NODELAY.
 * The caller of each function holds the connection's lock.
 */

/* True while the process ends or is replaced (exec).  The library then holds nothing, so that no bytes
 * of another thread's write are lost. */
extern INTERNAL bool hold_refused;

/* The only function that makes the limits.  The fast path already has `now` and `window`. */
static inline struct policy_limits decide_limits_now(const struct config *now, enum window_state window) {
    return (struct policy_limits){
        .small = now->small,
        .override = now->override,
        .may_hold = window < WINDOW_STOPS && !now->no_syscalls && !LOAD(&hold_refused),
        .windowless = window_windowless(window),
    };
}
static inline struct policy_limits decide_limits(void) {
    return decide_limits_now(config(), window_state());
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
 * Policy tells when to ask the kernel (policy.h, "messages that cross").  Unacknowledged bytes alone are no
 * stall: the acknowledgement may come at once.  So the first time the delay must be seen: the next input came
 * after the write had been held for PROOF_LEAST_MS or more.  Then the connection gets TCP_NODELAY, and the
 * next one of the same endpoint at its first such write. */

/* Before the write that policy has marked as `crossing` leaves by fd. */
void decide_crossing(struct conn *c, int fd);
/* The same after the write. */
void decide_crossed(struct conn *c, int fd);
/* Input has come after such a write (c->crossed_ms), before policy_input(). */
void decide_crossing_answered(struct conn *c);

/* Decides and applies.  `waiting` buffered bytes leave as a unit. */
void decide_release(struct conn *c, size_t waiting);
/* The application has cleared TCP_CORK: the bytes that it held have left as a unit. */
void decide_uncork(struct conn *c);

/* ---- the end of a connection --------------------------------------------- */

enum { CLOSE_LOWEST = 256 }; /* a descriptor of our own is not below it, if it can be so */

/* The application closes the last descriptor while the kernel has no room for the buffered bytes.  Lock held.
 * CLOSE_LINGERS: a descriptor of our own keeps the connection open until the window's thread has sent them.
 * CLOSE_ENDS: a larger SO_SNDBUF made room; no descriptor was available, and the bytes were sent as far as
 * room came in time; or SO_LINGER asks for a reset.  CLOSE_UNLOCKED: the lock was released, and cannot be had
 * again.  Where SO_LINGER has a time, the close waits for room as long, as the kernel's own close would, and
 * then the option is cleared: the last close must not block the window's thread. */
enum close_lingers { CLOSE_ENDS, CLOSE_LINGERS, CLOSE_UNLOCKED };
enum close_lingers close_lingers(struct conn *c, int fd);

/* Counts the end of c and releases it, after its last descriptor `fd` was removed.  Lock held; unlocks. */
void close_ends(struct conn *c, int fd);

/* A lingering connection has sent all its bytes: closes and releases it.  Lock held; unlocks. */
void close_linger_ends(struct conn *c);

/* ---- a change of the configuration reaches the connections ------------------ */

/* Adopts the configuration in force.  Lock held. */
void sweep_adopt(struct conn *c);

/* For every connection: pushes the held bytes and adopts the configuration. */
void sweep(enum push_cause cause);

/* The control block has changed: reads it, and sweeps if another configuration is in force.
 * The caller holds no lock. */
void sweep_told(void);

#endif
