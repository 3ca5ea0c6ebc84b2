/* SPDX-License-Identifier: MIT
 *
 * A write on a quiet or a steady connection (conn.h): counted, or held, without a decision.  It gives the
 * same result as shim_fast.c in half of the instructions.
 */
#include <stdint.h>
#include <sys/socket.h>

#include "config.h"
#include "fds.h"
#include "policy_inline.h"
#include "shim_plain.h"
#include "ticker.h"

/* The kernel took only a part of the write, or none. */
COLD ssize_t fell_short(struct conn *c, struct plain w, ssize_t sent, enum write_how how, bool first,
                        bool burst, bool was_held) {
    const struct policy_action action = {.how = how,
                                         .ends_unit = how == WRITE_PLAIN,
                                         .small_write = is_small_write(&c->policy, config()->small, w.bytes),
                                         .burst = burst,
                                         .new_message = first};
    return shim_plain_fell_short(c, w, &action, sent, was_held);
}

/* The write goes by the path that decides. */
INLINE ssize_t decided(const struct plain w) {
    return shim_write_fast(w.fd, w.buffer, w.bytes, w.flags, w.form, w.caller);
}

/* The same after a look.  Lock held; released. */
INLINE ssize_t decided_after_all(struct conn *c, const struct plain w) {
    conn_unlock(c);
    return decided(w);
}

/* The connection of a write, locked, if no fact has changed since a read made it quiet or steady, or NULL. */
INLINE struct conn *lock_quiet(const struct plain *w, const struct config *now) {
    struct conn *c = fds_conn(fds_word(w->fd));
    if (UNLIKELY(!c || !self.ends_watched || (w->flags & ~(MSG_NOSIGNAL | MSG_DONTWAIT)) ||
                 w->bytes - 1 >= INT32_MAX || !surely_ours()))
        return NULL;
    conn_lock_quiet(c);
    if (LIKELY(fds_word(w->fd) == (uintptr_t)c && c->epoch == now->epoch &&
               c->nodelay_checked == LOAD(&nodelay_epoch)))
        return c;
    conn_unlock(c);
    return NULL;
}

INLINE ssize_t write_quiet(const struct plain w) {
    const struct config *now = config();
    struct conn *c = lock_quiet(&w, now);
    if (UNLIKELY(!c))
        return decided(w);
    if (UNLIKELY(c->quiet != QUIET || !policy_quiet_takes(&c->policy, w.bytes)))
        return decided_after_all(c, w);
    STORE(&c->quiet, QUIET_WROTE);
    hold_open_turn(c);
    policy_quiet_write(&c->policy, now->small, w.bytes);
    shim_count(c, &(struct policy_action){.new_message = true}, w.bytes);
    conn_unlock(c);
    ssize_t sent = w.form == FORM_WRITE ? REAL_FOUND(write)(w.fd, w.buffer, w.bytes)
                                        : REAL_FOUND(send)(w.fd, w.buffer, w.bytes, w.flags);
    return LIKELY(sent == (ssize_t)w.bytes) ? sent : fell_short(c, w, sent, WRITE_PLAIN, true, false, false);
}

ssize_t shim_write_quiet(int fd, const void *buffer, size_t bytes, uintptr_t caller) {
    return write_quiet((struct plain){fd, 0, buffer, bytes, FORM_WRITE, caller});
}

ssize_t shim_send_quiet(int fd, const void *buffer, size_t bytes, int flags, uintptr_t caller) {
    return write_quiet((struct plain){fd, flags, buffer, bytes, FORM_SEND, caller});
}

/* ---- a steady turn ------------------------------------------------------ */

/* The last write of a turn.  Lock held; released. */
INLINE ssize_t end_steadily(struct conn *c, const struct plain w, bool first, bool burst) {
    bool was_held;
    STORE(&c->quiet, STEADY_WROTE);
    policy_steady_unit(&c->policy);
    ssize_t sent = shim_send_last(c, &w, &was_held);
    return LIKELY(sent == (ssize_t)w.bytes) ? sent
                                            : fell_short(c, w, sent, WRITE_PLAIN, first, burst, was_held);
}

/* A write that counts as held already.  Lock held; released. */
INLINE ssize_t hold_steadily(struct conn *c, const struct plain w, bool first, bool burst, bool was_held) {
    ssize_t sent = shim_send_more(c, &w);
    if (UNLIKELY(sent != (ssize_t)w.bytes))
        sent = fell_short(c, w, sent, WRITE_MORE, first, burst, was_held);
    if (sent > 0 && UNLIKELY(!LOAD(&c->held)))
        shim_rehold_after_push(c, w.fd);
    return sent;
}

/* As shim_hold() at the beginning of a turn: nothing is held or buffered yet. */
INLINE void hold_first(struct conn *c, enum ticker_state ticker) {
    STORE(&c->held, true);
    c->counts.held_writes++;
    if (ticker != TICKER_RUNS)
        STORE(&c->held_since, clock_coarse());
    else if (UNLIKELY(!ticker_watch_by_thread(c, ticker)))
        STORE(&c->held, false); /* shim_rehold_after_push() pushes it */
}

INLINE ssize_t first_steady(struct conn *c, const struct plain w, const struct config *now) {
    struct policy *p = &c->policy;
    enum turn_guess guess = policy_steady_guess(p, 0, now->small, w.bytes);
    enum ticker_state ticker = ticker_state();
    if (UNLIKELY(guess == TURN_UNKNOWN || LOAD(&endpoint_late[c->endpoint].any) ||
                 !decide_steady_may_hold(now, p, ticker)))
        return decided_after_all(c, w);
    c->wait_began = 0; /* as hold_wait_was_quick() */
    hold_open_steady_turn(c);
    policy_steady_first(p, now->small, w.bytes);
    shim_count(c, &(struct policy_action){.new_message = true}, w.bytes);
    if (UNLIKELY(guess == TURN_LAST))
        return end_steadily(c, w, true, false);
    STORE(&c->quiet, STEADY_HOLDS);
    hold_first(c, ticker);
    return hold_steadily(c, w, true, false, false);
}

/* A turn of this thread goes on.  The write is held, or it is the last one. */
INLINE ssize_t next_steady(struct conn *c, const struct plain w, const struct config *now) {
    struct policy *p = &c->policy;
    enum turn_guess guess = policy_steady_guess(p, p->position, now->small, w.bytes);
    if (UNLIKELY(c->quiet != STEADY_HOLDS || c->turn_owner != &self || self.turn != c || !hold_is_young(c) ||
                 guess == TURN_UNKNOWN ||
                 (guess == TURN_MORE && !decide_steady_may_hold(now, p, ticker_state()))))
        return decided_after_all(c, w);
    bool burst = policy_steady_next(p, now->small, w.bytes) && p->small_writes == 2;
    shim_count(c, &(struct policy_action){.burst = burst}, w.bytes);
    if (guess == TURN_LAST)
        return end_steadily(c, w, false, burst);
    return hold_steadily(c, w, false, burst, shim_hold(c));
}

INLINE ssize_t write_steady(const struct plain w) {
    const struct config *now = config();
    struct conn *c = lock_quiet(&w, now);
    if (UNLIKELY(!c))
        return decided(w);
    return c->quiet == STEADY ? first_steady(c, w, now) : next_steady(c, w, now);
}

ssize_t shim_write_steady(int fd, const void *buffer, size_t bytes, uintptr_t caller) {
    return write_steady((struct plain){fd, 0, buffer, bytes, FORM_WRITE, caller});
}

ssize_t shim_send_steady(int fd, const void *buffer, size_t bytes, int flags, uintptr_t caller) {
    return write_steady((struct plain){fd, flags, buffer, bytes, FORM_SEND, caller});
}
