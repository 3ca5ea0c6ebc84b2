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
COLD ssize_t quiet_fell_short(struct conn *c, struct plain w, ssize_t sent) {
    const struct policy_limits limits = decide_limits();
    const struct policy_action action = {.how = WRITE_PLAIN,
                                         .ends_unit = true,
                                         .small_write = is_small_write(&c->policy, limits.small, w.bytes),
                                         .new_message = true};
    return shim_plain_fell_short(c, w, &action, sent, false);
}

/* The write goes by the path that decides. */
INLINE ssize_t decided(const struct plain w) {
    return shim_write_fast(w.fd, w.buffer, w.bytes, w.flags, w.form, w.caller);
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
    if (UNLIKELY(c->quiet != QUIET || !policy_quiet_takes(&c->policy, w.bytes))) {
        conn_unlock(c);
        return decided(w);
    }
    STORE(&c->quiet, QUIET_WROTE);
    hold_open_turn(c);
    policy_quiet_write(&c->policy, now->small, w.bytes);
    shim_count(c, &(struct policy_action){.new_message = true}, w.bytes);
    conn_unlock(c);
    ssize_t sent = w.form == FORM_WRITE ? REAL_FOUND(write)(w.fd, w.buffer, w.bytes)
                                        : REAL_FOUND(send)(w.fd, w.buffer, w.bytes, w.flags);
    return LIKELY(sent == (ssize_t)w.bytes) ? sent : quiet_fell_short(c, w, sent);
}

ssize_t shim_write_quiet(int fd, const void *buffer, size_t bytes, uintptr_t caller) {
    return write_quiet((struct plain){fd, 0, buffer, bytes, FORM_WRITE, caller});
}

ssize_t shim_send_quiet(int fd, const void *buffer, size_t bytes, int flags, uintptr_t caller) {
    return write_quiet((struct plain){fd, flags, buffer, bytes, FORM_SEND, caller});
}

/* True: the write continues a steady turn of this thread, whose hold fits the habit.  Lock held. */
INLINE bool goes_on_steadily(struct conn *c) {
    if (c->quiet != STEADY_HOLDS || c->turn_owner != &self || self.turn != c)
        return false;
    hold_check_age(c);
    return !c->policy.nodelay_only;
}

/* The write is held, or it is the last one of its turn. */
INLINE ssize_t write_steady(const struct plain w) {
    const struct config *now = config();
    struct conn *c = lock_quiet(&w, now);
    if (UNLIKELY(!c))
        return decided(w);
    struct policy *p = &c->policy;
    bool first = c->quiet == STEADY;
    enum turn_guess guess = policy_steady_guess(p, now->small, w.bytes);
    if (UNLIKELY((first ? LOAD(&endpoint_nodelay_only[c->endpoint]) : !goes_on_steadily(c)) ||
                 guess == TURN_UNKNOWN ||
                 ((first || guess == TURN_MORE) && !decide_steady_may_hold(now, p)))) {
        conn_unlock(c);
        return decided(w);
    }
    if (first) {
        c->wait_began = 0; /* as hold_wait_was_quick() */
        hold_open_steady_turn(c);
    }
    bool small = policy_steady_write(p, now->small, w.bytes);
    struct policy_action action = {.small_write = small,
                                   .burst = small && p->small_writes == 2,
                                   .new_message = first};
    shim_count(c, &action, w.bytes);
    if (guess == TURN_MORE) {
        STORE(&c->quiet, STEADY_HOLDS);
        action.how = WRITE_MORE;
        return shim_send_held(c, w, &action);
    }
    STORE(&c->quiet, STEADY_WROTE);
    policy_steady_unit(p);
    action.ends_unit = true;
    return shim_send_plain(c, w, &action);
}

ssize_t shim_write_steady(int fd, const void *buffer, size_t bytes, uintptr_t caller) {
    return write_steady((struct plain){fd, 0, buffer, bytes, FORM_WRITE, caller});
}

ssize_t shim_send_steady(int fd, const void *buffer, size_t bytes, int flags, uintptr_t caller) {
    return write_steady((struct plain){fd, flags, buffer, bytes, FORM_SEND, caller});
}
