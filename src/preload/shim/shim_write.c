/* SPDX-License-Identifier: MIT
 *
 * The path of a write: decide under the connection's lock, forward without it.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>

#include "config.h"
#include "cookies.h"
#include "evidence.h"
#include "fds.h"
#include "coalesce_buffer.h"
#include "hold.h"
#include "kernel.h"
#include "shim_reentry.h"
#include "shim_parts.h"
#include "shim_tally.h"
#include "tally.h"
#include "ticker_thread.h"
#include "verbose.h"

/* Before the first write enters a buffer: checks that the descriptor still belongs to this
 * connection.  False: it belongs to another one.  The action is then undone, the descriptor
 * forgotten and the lock released. */
static bool still_its_number(struct conn *c, int fd, const struct policy_action *action,
                             size_t bytes) {
    if (buffer_length(c))
        return true;
    bool gone = LOAD(&c->aside) && fds_word(fd) != (uintptr_t)c; /* a handler has closed it */
    if (c->fd != fd && !gone) { /* the buffered bytes leave by the descriptor that was checked */
        c->other_fd = c->fd;
        c->fd = fd;
    }
    uint64_t cookie;
    if (!c->cookie && !gone) {
        if (kernel->cookie(fd, &cookie) == 0)
            cookies_note(c, cookie);
    } else if (UNLIKELY(gone || !buffer_is_at(c, fd))) {
        policy_unsent(&c->policy, action, bytes);
        STORE(&c->turn_owner, NULL);
        self.turn = NULL;
        conn_unlock(c);
        fds_forget(fd);
        return false;
    }
    return true;
}

/* A buffered write has reported success, so the kernel must take its bytes later.  At most
 * a quarter of the send buffer is buffered for a message, and none while the send buffer
 * may be full. */
static void look_for_room(struct conn *c, int fd) {
    struct policy *p = &c->policy;
    int room = 0;
    if (!p->buffer_limit) {
        if (kernel->get_option(fd, SOL_SOCKET, SO_SNDBUF, &room) != 0)
            room = 0;
        p->buffer_limit = (uint16_t)(room / 4 < BUFFER_MOST ? room / 4 + 1 : BUFFER_MOST);
        p->sndbuf_maybe_full = c->counts.bytes > 0 || c->origin == ORIGIN_FOREIGN;
    }
    if (p->sndbuf_maybe_full && p->message_bytes == 0)
        p->sndbuf_maybe_full = kernel->writable(fd, 0) <= 0;
}

/* This write may be the first one held: decides whether the window's thread starts.  The lock is released
 * meanwhile.  Returns the connection, locked; NULL: it is closed. */
static struct conn *with_ticker(struct conn *c, int fd, const struct policy_write *w) {
    if (c->policy.unsure)
        hold_ask_facts(c); /* without them policy would refuse to hold now and agree later */
    struct policy_limits limits = decide_limits_of_write(c);
    limits.windowless = false;
    if (!policy_holds(&c->policy, &limits, w))
        return c;
    bool buffers = c->policy.mode == MODE_COALESCE;
    unsigned position = c->policy.position;
    conn_unlock(c);
    ticker_decide(buffers, position);
    return shim_find(fd);
}

/* Asks for the facts that policy needs.  Returns the connection, locked, or NULL. */
static struct conn *with_facts(struct conn *c, int fd, const struct policy_write *w) {
    struct policy_limits limits = decide_limits();
    if (policy_buffers(&c->policy) && UNLIKELY(!policy_knows_sndbuf(&c->policy)) &&
        policy_may_hold_write(&c->policy, &limits, w))
        look_for_room(c, fd);
    return LIKELY(!ticker_undecided(ticker_state(), &c->policy)) ? c : with_ticker(c, fd, w);
}

/* Fills in the parts of a write.  False: policy has nothing to decide, because the write is empty or its
 * memory is not readable. */
static bool parts_to_judge(const struct conn *c, const struct write_request *o, struct parts *p) {
    shim_parts_of(o, p);
    if (policy_buffers(&c->policy) && p->valid && p->bytes <= config()->small)
        p->valid = shim_parts_readable(p, p->bytes);
    return p->valid && p->bytes > 0;
}

/* An empty write sends and pushes nothing.  The kernel reports the error of an unreadable one. */
static ssize_t pass_on(struct conn *c, const struct write_request *o, const struct parts *p) {
    if (!p->valid && buffer_length(c))
        return shim_send_after_buffered(c, o, p);
    conn_unlock(c);
    return shim_forward(o);
}

/* Sends as decided.  Lock held; released before the send. */
static ssize_t send_decided(struct conn *c, const struct write_request *o, const struct parts *p,
                            const struct policy_action *action) {
    bool was_held = c->held, holds = action->how == WRITE_MORE;
    if (holds)
        shim_hold(c);
    else
        STORE(&c->held, was_held && (o->flags & MSG_MORE));
    bool known = c->policy.established, first = c->counts.late_pushes == 1;
    const struct call call = call_of(c);
    conn_unlock(c);
    if (UNLIKELY(action->late_push))
        verbose_late_push(o->fd, p->bytes, first);
    if (was_held && !holds)
        self.releasing = c; /* in case this thread is cancelled in the call */
    ssize_t sent = holds ? shim_forward_more(o, p) : shim_forward(o);
    self.releasing = NULL;
    if (UNLIKELY(sent != (ssize_t)p->bytes)) {
        if (sent < 0 && errno == ENOTSOCK)
            return shim_plain_after_all(o);
        shim_write_rollback(c, o->fd, action, p->bytes, sent, was_held);
    }
    if (UNLIKELY(!known && sent > 0))
        shim_established(call);
    if (holds && sent > 0 && UNLIKELY(!LOAD(&c->held)))
        shim_rehold_after_push(c, o->fd);
    return sent;
}

/* `joined`: the write has joined its turn already. */
static ssize_t write_to(struct conn *c, const struct write_request *o, bool joined) {
    struct parts p;
    if (UNLIKELY(!parts_to_judge(c, o, &p)))
        return pass_on(c, o, &p);
    const struct policy_write w = {p.bytes, (o->flags & MSG_MORE) != 0, shim_special(o)};
    if (!joined)
        hold_join_turn(c);
    c = with_facts(c, o->fd, &w);
    if (UNLIKELY(!c))
        return reentry_write(o);
    if (UNLIKELY((w.more || w.special) && c->buffer)) {
        hold_push(c, PUSH_WRITE); /* they leave as a unit before the decision about this write */
        if (UNLIKELY(c->pending_error))
            return shim_tell_error(c, o->flags);
    }
    struct policy_limits limits = decide_limits_of_write(c);
    limits.may_hold = limits.may_hold && ticker_state() != TICKER_NONE; /* still: with_ticker() has asked */
    struct policy_action action = decide_write(c, &limits, &w);
    bool buffers = action.how == WRITE_COALESCE;
    if (buffers && UNLIKELY(!still_its_number(c, o->fd, &action, p.bytes)))
        return shim_write(o);
    shim_account(c, &action, p.bytes);
    evidence_wrote(c, &action, &(struct evidence_write){o->fd, p.bytes, o->caller});
    if (buffers) {
        shim_buffer(c, p.iov, p.count);
        conn_unlock(c);
        return (ssize_t)p.bytes;
    }
    decide_apply(c, &action, o->fd);
    if (UNLIKELY(action.crossing))
        decide_crossing(c, o->fd);
    if (buffer_length(c))
        return shim_send_after_buffered(c, o, &p);
    return send_decided(c, o, &p, &action);
}

/* The kernel has taken `sent` bytes, about which nothing was decided before.  Lock held. */
static void account_sent(struct conn *c, const struct write_request *o, size_t sent) {
    struct policy_limits limits = decide_limits();
    const struct policy_write w = {sent, (o->flags & MSG_MORE) != 0, true};
    hold_join_turn(c);
    struct policy_action action = decide_write(c, &limits, &w);
    shim_account(c, &action, sent);
    evidence_wrote(c, &action, &(struct evidence_write){o->fd, sent, o->caller});
    decide_apply(c, &action, o->fd); /* another thread has written meanwhile */
    if (UNLIKELY(action.crossing))
        decide_crossed(c, o->fd);
    policy_established(&c->policy);
}

/* A write that connects (MSG_FASTOPEN).  The address is readable: the kernel has followed it. */
static ssize_t write_connects(const struct write_request *o) {
    struct call call = shim_connect_begins(o->fd);
    ssize_t sent = shim_forward(o);
    int error = errno;
    const struct sockaddr *address = o->message ? o->message->msg_name : o->address;
    socklen_t length = o->message ? o->message->msg_namelen : o->address_length;
    if (address && (sent >= 0 || error == EINPROGRESS))
        shim_connect_ended(call, sent < 0 ? -1 : 0, error, address, length);
    if (sent > 0 && call.conn && call_lock(call)) {
        if (call.conn->evidence)
            tally_write_begins(call.conn);
        account_sent(call.conn, o, (size_t)sent);
        conn_unlock(call.conn);
    }
    errno = error;
    return sent;
}

/* If there is nothing to do before the call, the call comes first: the kernel then checks the
 * caller's pointers before the library reads them. */
static ssize_t write_and_look(struct conn *c, const struct write_request *o) {
    uint32_t reads = c->counts.reads, open = c->policy.message_bytes;
    const struct call call = call_of(c);
    evidence_writes(c);
    conn_unlock(c);
    ssize_t sent = shim_forward(o);
    if (sent <= 0) {
        if (sent < 0 || UNLIKELY(LOAD(&c->evidence) != NULL))
            shim_not_sent(call, sent < 0 ? errno : 0);
        return sent;
    }
    if (!call_lock(call)) {
        if (!call_seems_stale(call))
            conn_count_bytes(c, (uint64_t)sent);
        return sent;
    }
    bool answered = UNLIKELY(c->counts.reads != reads); /* another thread has read it already */
    struct policy_limits limits = decide_limits();
    if (answered && open) { /* the last write of a finished message */
        shim_account(c, &(struct policy_action){.small_write = (size_t)sent <= limits.small},
                     (size_t)sent);
        conn_unlock(c);
        return sent;
    }
    account_sent(c, o, (size_t)sent);
    if (answered)
        policy_input(&c->policy, 1, 0, false);
    conn_unlock(c);
    return sent;
}

/* Mode off: counted after the call, because a vector of the caller's is not followed before it. */
static ssize_t forward_and_count(struct conn *c, const struct write_request *o) {
    const struct call call = {c, LOAD_ACQUIRE(&c->generation)};
    ssize_t sent = shim_forward(o);
    if (sent > 0 && !call_seems_stale(call))
        shim_counts(c, config(), (size_t)sent);
    if (UNLIKELY(sent < 0))
        shim_not_sent(call, errno);
    return sent;
}

ssize_t shim_write_found(struct conn *c, const struct write_request *o, bool joined) {
    if (UNLIKELY(c->policy.mode == MODE_OFF) && shim_only_counts(c, config())) {
        conn_unlock(c);
        return forward_and_count(c, o);
    }
    if (UNLIKELY(c->pending_error))
        return shim_tell_error(c, o->flags);
    if (UNLIKELY(c->evidence != NULL)) {
        c = shim_tally(c, o->fd);
        if (!c)
            return reentry_write(o);
    }
    if (UNLIKELY(c->buffer && c->fd != o->fd) && !buffer_is_at(c, o->fd)) {
        conn_unlock(c);
        fds_forget(o->fd); /* this descriptor belongs to another connection now */
        return shim_write(o);
    }
    bool nothing_to_do = !mode_cures((enum mode)c->policy.mode) ||
                         (policy_waits_for_second(&c->policy) && !shim_surely_there(o));
    if (nothing_to_do && !c->held && !c->buffer)
        return write_and_look(c, o);
    return write_to(c, o, joined);
}

ssize_t shim_write(const struct write_request *o) {
    if (UNLIKELY(!ours()))
        return reentry_write(o);
    uintptr_t word = fds_word(o->fd);
    if (self.turn && fds_conn(word) != self.turn)
        shim_other_write(o->fd);
    if (word != FDS_UNKNOWN && word <= FDS_LAST_TAG)
        return shim_forward(o);
    if (UNLIKELY(o->flags & MSG_FASTOPEN))
        return write_connects(o);
    if (fds_conn(word) && shim_only_counts(fds_conn(word), config()))
        return forward_and_count(fds_conn(word), o);
    if (UNLIKELY(self.draining != NULL) && fds_conn(word) == self.draining)
        return reentry_write(o); /* in a handler that has interrupted this thread's drain of it */
    if (config()->buffers && !o->raw)
        pthread_testcancel(); /* the write may be buffered, but stays a cancellation point */
    struct conn *c = shim_find(o->fd);
    return c ? shim_write_found(c, o, false) : reentry_write(o);
}
