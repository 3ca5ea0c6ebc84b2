/* SPDX-License-Identifier: MIT
 *
 * The fast path of a write: one contiguous buffer, on a connection in steady state
 * (in_steady_state).  It gives the same result as shim_write.c in a third of the
 * instructions.  All other writes take the slow path in shim_write.c.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/socket.h>

#include "config.h"
#include "evidence.h"
#include "fds.h"
#include "coalesce_buffer.h"
#include "hold.h"
#include "policy_inline.h"
#include "readable.h"
#include "real.h"
#include "shim_parts.h"
#include "tally.h"
#include "ticker.h"
#include "verbose.h"

/* The arguments of the call, kept in registers. */
struct plain {
    int fd, flags;
    const void *buffer;
    size_t bytes;
    enum out_form form;
    uintptr_t caller;
};

#define INLINE static inline __attribute__((always_inline))
#define COLD   static __attribute__((noinline, cold))

INLINE struct write_request request_of(const struct plain *w) {
    return (struct write_request){.fd = w->fd,
                        .form = w->form,
                        .flags = w->flags,
                        .caller = w->caller,
                        .buffer = w->buffer,
                        .bytes = w->bytes};
}

COLD ssize_t slow_path(struct plain w) {
    const struct write_request o = request_of(&w);
    return shim_write(&o);
}

COLD ssize_t slow_path_found(struct conn *c, struct plain w, bool joined) {
    const struct write_request o = request_of(&w);
    return shim_write_found(c, &o, joined);
}

/* The kernel took only a part of the write, or none. */
COLD ssize_t fell_short(struct conn *c, struct plain w, const struct policy_action *action, ssize_t sent,
                        bool was_held) {
    if (sent < 0 && errno == ENOTSOCK) {
        const struct write_request o = request_of(&w);
        return shim_plain_after_all(&o);
    }
    shim_write_rollback(c, w.fd, action, w.bytes, sent, was_held);
    return sent;
}

/* The check of data and heap comes first: most written bytes lie there. */
INLINE bool buffer_is_there(const void *buffer, size_t bytes) {
    return lies_in_data(buffer, bytes) || readable(buffer, bytes);
}

/* Buffers one more small write behind the buffered ones of the same turn. */
INLINE bool buffers_on(struct conn *c, const struct plain *w, struct policy_limits *limits) {
    if (c->turn_owner != &self || self.turn != c || c->policy.mode != MODE_COALESCE ||
        !buffer_is_there(w->buffer, w->bytes))
        return false;
    decide_add_room(limits, c);
    uint16_t small_before = c->policy.small_writes;
    if (!policy_buffers_on(&c->policy, limits, w->bytes))
        return false;
    buffer_copy(c->buffer, w->buffer, w->bytes);
    c->counts.writes++;
    c->counts.bytes += w->bytes;
    c->counts.buffered_writes++;
    c->counts.bursts += small_before == 1 && c->policy.small_writes == 2;
    return true;
}

/* True: the fast path may decide about a first write.  The room in the kernel is known.  A small write,
 * which may be buffered, is readable memory, and its descriptor still belongs to this connection. */
INLINE bool may_begin(const struct conn *c, const struct plain *w,
                      const struct policy_limits *limits) {
    return c->cookie && c->fd == w->fd && policy_knows_sndbuf(&c->policy) &&
           (w->bytes > limits->small ||
            (buffer_is_there(w->buffer, w->bytes) && buffer_is_at(c, w->fd)));
}

/* Lock held; released. */
INLINE ssize_t send_plain(struct conn *c, struct plain w, const struct policy_action *action) {
    bool was_held = c->held;
    if (UNLIKELY(was_held))
        STORE(&c->held, false);
    conn_unlock(c);
    if (UNLIKELY(was_held))
        self.releasing = c; /* in case this thread is cancelled in the call */
    ssize_t sent = w.form == FORM_WRITE  ? REAL(write)(w.fd, w.buffer, w.bytes)
                   : w.form == FORM_SEND ? REAL(send)(w.fd, w.buffer, w.bytes, w.flags)
                                        : REAL(sendto)(w.fd, w.buffer, w.bytes, w.flags, NULL, 0);
    if (UNLIKELY(was_held))
        self.releasing = NULL;
    return LIKELY(sent == (ssize_t)w.bytes) ? sent : fell_short(c, w, action, sent, was_held);
}

/* Sets or restores TCP_NODELAY, then sends.  Lock held; released. */
COLD ssize_t send_prepared(struct conn *c, struct plain w, const struct policy_action *action) {
    decide_apply(c, action, w.fd);
    bool first = c->counts.late_pushes == 1;
    ssize_t sent = send_plain(c, w, action);
    if (action->late_push)
        verbose_late_push(w.fd, w.bytes, first);
    return sent;
}

/* Lock held; released. */
INLINE ssize_t send_held(struct conn *c, struct plain w, const struct policy_action *action) {
    bool was_held = shim_hold(c);
    conn_unlock(c);
    ssize_t sent = REAL(send)(w.fd, w.buffer, w.bytes, w.flags | MSG_MORE);
    if (UNLIKELY(sent != (ssize_t)w.bytes))
        sent = fell_short(c, w, action, sent, was_held);
    if (sent > 0 && UNLIKELY(!LOAD(&c->held)))
        shim_rehold_after_push(c, w.fd);
    return sent;
}

/* Starts the statistics of a write.  False: take the slow path, because statistics need the lock
 * released, or because the decision depends on buffered bytes. */
COLD bool tally_begins(struct conn *c) {
    if (c->buffer || tally_pending())
        return false;
    tally_write_begins(c);
    return true;
}

COLD void tally_accounts(struct conn *c, struct plain w, const struct policy_action *action) {
    tally_written(c, action);
    evidence_wrote(c, action, &(struct evidence_write){w.fd, w.bytes, w.caller});
}

/* True: the connection's facts are up to date, it has no pending error, and its mode cures. */
INLINE bool in_steady_state(const struct conn *c, const struct config *now) {
    return c->epoch == now->epoch && c->filters_applied && c->nodelay_checked == LOAD(&nodelay_epoch) &&
           !c->pending_error && c->policy.mode >= MODE_NODELAY && c->policy.established;
}

ssize_t shim_write_fast(int fd, const void *buffer, size_t bytes, int flags, enum out_form form,
                         uintptr_t caller) {
    const struct plain w = {fd, flags, buffer, bytes, form, caller};
    uintptr_t word = fds_word(fd);
    struct conn *c = fds_conn(word);
    struct conn *turn = self.turn;
    if (UNLIKELY(!c || (turn && turn != c) || self.draining ||
                 (flags & ~(MSG_NOSIGNAL | MSG_DONTWAIT)) || bytes - 1 >= SSIZE_MAX || !ours()))
        return slow_path(w);
    const struct config *now = config();
    if (now->buffers)
        pthread_testcancel(); /* the write may be buffered, but stays a cancellation point */
    conn_lock(c);
    if (UNLIKELY(fds_word(fd) != word)) {
        conn_unlock(c);
        return slow_path(w);
    }
    enum ticker_state ticker = ticker_state();
    if (UNLIKELY(!in_steady_state(c, now) ||
                 ticker_undecided(ticker, &c->policy) ||
                 (c->evidence && !tally_begins(c)))) {
        shim_refresh(c);
        return slow_path_found(c, w, false);
    }
    struct policy_limits limits = decide_limits_now(now, ticker);
    if (c->buffer) {
        if (UNLIKELY(c->fd != fd) || !buffers_on(c, &w, &limits))
            return slow_path_found(c, w, false);
        conn_unlock(c);
        return (ssize_t)bytes;
    }
    hold_join_turn(c);
    if (c->policy.mode == MODE_COALESCE) {
        if (UNLIKELY(!may_begin(c, &w, &limits)))
            return slow_path_found(c, w, true);
        decide_add_room(&limits, c);
    }
    struct policy_action action = {.how = WRITE_PLAIN};
    policy_decide(&c->policy, &limits, &(struct policy_write){.bytes = bytes}, &action);
    if (UNLIKELY(action.need_facts))
        return slow_path_found(c, w, true);
    shim_count(c, &action, bytes);
    if (UNLIKELY(c->evidence != NULL))
        tally_accounts(c, w, &action);
    if (action.how == WRITE_MORE)
        return send_held(c, w, &action);
    if (action.how == WRITE_COALESCE) {
        shim_buffer(c, &(struct iovec){(void *)(uintptr_t)buffer, bytes}, 1);
        conn_unlock(c);
        return (ssize_t)bytes;
    }
    return UNLIKELY(action.late_push || action.back_to_app) ? send_prepared(c, w, &action)
                                                             : send_plain(c, w, &action);
}

/* ---- a quiet connection ------------------------------------------------- */

/* The kernel took only a part of the write, or none. */
COLD ssize_t quiet_fell_short(struct conn *c, struct plain w, ssize_t sent) {
    const struct policy_limits limits = decide_limits();
    const struct policy_action action = {.how = WRITE_PLAIN,
                                         .ends_unit = true,
                                         .small_write = is_small_write(&c->policy, &limits, w.bytes),
                                         .new_message = true};
    return fell_short(c, w, &action, sent, false);
}

/* True: no fact on which the write depends has changed since a read made the connection quiet.  Lock held. */
INLINE bool is_still_quiet(const struct conn *c, int fd, const struct config *now) {
    return c->quiet == QUIET && fds_word(fd) == (uintptr_t)c && c->epoch == now->epoch &&
           c->nodelay_checked == LOAD(&nodelay_epoch);
}

INLINE ssize_t write_quiet(const struct plain w) {
    struct conn *c = fds_conn(fds_word(w.fd));
    if (UNLIKELY(!c || !self.ends_watched || (w.flags & ~(MSG_NOSIGNAL | MSG_DONTWAIT)) ||
                 w.bytes - 1 >= INT32_MAX || !surely_ours()))
        return shim_write_fast(w.fd, w.buffer, w.bytes, w.flags, w.form, w.caller);
    const struct config *now = config();
    conn_lock_quiet(c);
    if (UNLIKELY(!is_still_quiet(c, w.fd, now))) {
        conn_unlock(c);
        return shim_write_fast(w.fd, w.buffer, w.bytes, w.flags, w.form, w.caller);
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
