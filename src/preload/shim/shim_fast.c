/* SPDX-License-Identifier: MIT
 *
 * The fast path of a write: one contiguous buffer, on a connection in steady state
 * (facts_are_current).  It gives the same result as shim_write.c in a third of the
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

INLINE struct write_request request_of(const struct plain *w) {
    return (struct write_request){.fd = w->fd,
                                  .form = w->form,
                                  .flags = w->flags,
                                  .caller = w->caller,
                                  .buffer = w->buffer,
                                  .bytes = w->bytes};
}

/* The kernel took only a part of the write, or none. */
COLD ssize_t fell_short(struct conn *c, struct plain w, const struct policy_action *action,
                                   ssize_t sent, bool was_held) {
    if (sent < 0 && errno == ENOTSOCK) {
        const struct write_request o = request_of(&w);
        return shim_plain_after_all(&o);
    }
    shim_write_rollback(c, w.fd, action, w.bytes, sent, was_held);
    return sent;
}

/* Sends it, and what is held before it.  Lock held; released. */
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

/* Sends it with MSG_MORE.  Lock held; released. */
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

COLD ssize_t slow_path(struct plain w) {
    const struct write_request o = request_of(&w);
    return shim_write(&o);
}

COLD ssize_t slow_path_found(struct conn *c, struct plain w, bool joined) {
    const struct write_request o = request_of(&w);
    return shim_write_found(c, &o, joined);
}

/* The check of data and heap comes first: most written bytes lie there. */
INLINE bool buffer_is_there(const void *buffer, size_t bytes) {
    return lies_in_data(buffer, bytes) || readable(buffer, bytes);
}

/* Buffers one more small write behind the buffered ones of the same turn. */
INLINE bool buffers_on(struct conn *c, const struct plain *w, struct policy_limits *limits) {
    if (c->turn_owner != &self || self.turn != c || !policy_buffers(&c->policy) ||
        !buffer_is_there(w->buffer, w->bytes))
        return false;
    decide_add_room(limits, c);
    uint16_t small_before = c->policy.small_writes;
    if (!policy_buffers_on(&c->policy, limits, w->bytes))
        return false;
    buffer_copy(c->buffer, w->buffer, w->bytes);
    c->counts.writes++;
    conn_count_bytes(c, w->bytes);
    c->counts.buffered_writes++;
    c->counts.bursts += small_before == 1 && c->policy.small_writes == 2;
    return true;
}

/* True: the fast path may decide about a first write.  For one that may be buffered the room in the kernel is
 * known, it is readable memory, and its descriptor still belongs to this connection. */
INLINE bool may_begin(const struct conn *c, const struct plain *w, struct policy_limits *limits) {
    if (!policy_may_hold_write(&c->policy, limits, &(struct policy_write){.bytes = w->bytes}))
        return true;
    decide_add_room(limits, c);
    return c->cookie && c->fd == w->fd && policy_knows_sndbuf(&c->policy) &&
           buffer_is_there(w->buffer, w->bytes) && buffer_is_at(c, w->fd);
}

/* Mode off.  Without the lock. */
NOINLINE ssize_t count_and_send(struct conn *c, const struct config *now, struct plain w) {
    const struct call call = {c, LOAD_ACQUIRE(&c->generation)};
    const struct shim_counted counted = shim_counts(c, now, w.bytes);
    ssize_t sent = w.form == FORM_WRITE  ? REAL(write)(w.fd, w.buffer, w.bytes)
                   : w.form == FORM_SEND ? REAL(send)(w.fd, w.buffer, w.bytes, w.flags)
                                         : REAL(sendto)(w.fd, w.buffer, w.bytes, w.flags, NULL, 0);
    if (UNLIKELY(sent != (ssize_t)w.bytes) && !call_seems_stale(call))
        shim_counted_too_much(c, counted, w.bytes, sent);
    if (UNLIKELY(sent < 0))
        shim_not_sent(call, errno);
    return sent;
}

/* Sets or restores TCP_NODELAY, then sends.  Lock held; released. */
COLD ssize_t send_prepared(struct conn *c, struct plain w, const struct policy_action *action) {
    decide_apply(c, action, w.fd);
    if (action->crossing)
        decide_crossing(c, w.fd);
    bool first = c->counts.late_pushes == 1;
    ssize_t sent = send_plain(c, w, action);
    if (action->late_push)
        verbose_late_push(w.fd, w.bytes, first);
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

/* True: no fact is missing or old, there is no pending error, and the mode cures. */
INLINE bool facts_are_current(const struct conn *c, const struct config *now) {
    return c->epoch == now->epoch && c->nodelay_checked == LOAD(&nodelay_epoch) &&
           !c->pending_error && c->policy.mode >= MODE_NODELAY && c->policy.established;
}

ssize_t shim_write_fast(int fd, const void *buffer, size_t bytes, int flags, enum out_form form,
                         uintptr_t caller) {
    const struct plain w = {fd, flags, buffer, bytes, form, caller};
    uintptr_t word = fds_word(fd);
    struct conn *c = fds_conn(word);
    struct conn *turn = self.turn;
    if (UNLIKELY(!c || (turn && turn != c) || (flags & ~(MSG_NOSIGNAL | MSG_DONTWAIT)) ||
                 bytes - 1 >= SSIZE_MAX || self.busy || *LOAD(&gate) != GATE_OPEN))
        return slow_path(w);
    const struct config *now = config();
    if (UNLIKELY(LOAD(&c->policy.mode) == MODE_OFF) && shim_only_counts(c, now))
        return count_and_send(c, now, w);
    if (now->buffers)
        pthread_testcancel(); /* the write may be buffered, but stays a cancellation point */
    if (UNLIKELY(!conn_lock(c)))
        return slow_path(w);
    if (UNLIKELY(fds_word(fd) != word)) {
        conn_unlock(c);
        return slow_path(w);
    }
    enum ticker_state ticker = ticker_state();
    if (UNLIKELY(!facts_are_current(c, now) ||
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
    if (policy_buffers(&c->policy) && UNLIKELY(!may_begin(c, &w, &limits)))
        return slow_path_found(c, w, true);
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
    return UNLIKELY(action.late_push || action.back_to_app || action.crossing)
               ? send_prepared(c, w, &action)
               : send_plain(c, w, &action);
}
