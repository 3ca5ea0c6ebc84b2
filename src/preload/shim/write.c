/* SPDX-License-Identifier: MIT
 *
 * The road of a write, from the exported name to the kernel: one look-up, one lock, one decision, one send.
 *
 *   1. May this call use our state (gate_enter), and whose descriptor is it?  What is no TCP is forwarded.
 *   2. Mode off forwards and counts, of one buffer by shim_one_in_off(): without the lock, unless statistics
 *      are on, or the connection has not yet adopted the configuration.
 *   3. The connection is locked.  Is anything to be prepared: a fact that is missing or old, statistics, an
 *      error to tell, a thread to start, bytes in a buffer?
 *   4. The write joins the turn of its thread, and policy decides: send it now, hold it, or buffer it.
 *   5. It is counted as if it had succeeded, the lock is released, and the call is made: act().  Nothing that
 *      may block or that is a cancellation point runs under the lock.
 *   6. The kernel took less: the counts are corrected: undo().
 *
 * shim_write_fast() is all of it for one buffer by libc's own name on a connection that needs no preparation.
 * Whatever is unusual goes on in shim_write(), before step 3, or in write_prepared(), after it: all three act
 * by act(), but for one more write behind the buffered ones of its turn (coalesce_goes_on).  Four kinds of
 * write leave the road, each with its reason:
 *
 *   - send_then_account(): the mode does not cure, or nothing is to be done yet and the caller's vector may
 *     not be looked at.  The kernel checks the pointers first, and the size is known only after the call.  So
 *     it is of sendfile, splice and sendmmsg, which are never held or buffered (shim_bulk_begins());
 *   - coalesce_send_with() in coalesce.c: coalesce has bytes of this connection in its buffer;
 *   - aside_write() in aside.c: the lock cannot be had (reentry.h), or this call may not use our state;
 *   - write_connects(): MSG_FASTOPEN, a write that is a connect, too.
 *
 * errno is always as the call without us would have set it.
 */
#include "coalesce.h"

#include "real.h"
#include "reentry.h"
#include "stats_file.h"

/* ---- a write, and the call that makes it -------------------------------------------- */

/* A write as the rest of the road needs it: by value, so that the compiler keeps it in registers.  `other`
 * is the request, if the write came by shim_write(): any form, also a plain write(2) that needed preparation,
 * as the first of each connection does.  NULL: by shim_write_fast(); `buffer` and `form` (FORM_WRITE,
 * FORM_SEND, FORM_SENDTO) then say how to make the call. */
struct write_args {
    int fd, flags;
    const void *buffer;
    size_t bytes;
    enum out_form form;
    uintptr_t caller;
};

INLINE ssize_t forward(const struct write_args *w, const struct write_request *other) {
    if (other)
        return shim_forward(other);
    return w->form == FORM_WRITE  ? REAL(write)(w->fd, w->buffer, w->bytes)
           : w->form == FORM_SEND ? REAL(send)(w->fd, w->buffer, w->bytes, w->flags)
                                 : REAL(sendto)(w->fd, w->buffer, w->bytes, w->flags, NULL, 0);
}

INLINE struct write_request request_of(struct write_args w) {
    return (struct write_request){.fd = w.fd,
                                  .form = w.form,
                                  .flags = w.flags,
                                  .caller = w.caller,
                                  .buffer = w.buffer,
                                  .bytes = w.bytes};
}

/* ---- counting -------------------------------------------------------------- */

/* Counts a write of `bytes`; `action` is the policy's decision. */
INLINE void count(struct conn *c, const struct policy_action *action, size_t bytes) {
    STORE(&c->counts.writes, LOAD(&c->counts.writes) + 1); /* a write that passes counts without the lock */
    conn_count_bytes(c, bytes);
    c->counts.messages += action->new_message;
    c->counts.bursts += action->burst;
}

/* The same, and in the statistics: for a write that is counted after the call. */
static void account(struct conn *c, const struct policy_action *action, size_t bytes) {
    count(c, action, bytes);
    c->counts.suspected += action->suspected;
    if (UNLIKELY(c->evidence != NULL))
        tally_written(c, action);
}

/* Mode off counts without the lock: other threads may count at the same time, and a message or a burst may
 * then be counted wrongly, but no byte and no write that has returned. */
INLINE void count_in_off(struct conn *c, uint32_t small, size_t bytes) {
    struct policy *p = &c->policy;
    uint32_t open = LOAD(&p->message_bytes);
    conn_count_bytes(c, bytes);
    __atomic_fetch_add(&c->counts.writes, 1, __ATOMIC_RELAXED);
    if (open == 0)
        __atomic_fetch_add(&c->counts.messages, 1, __ATOMIC_RELAXED);
    STORE(&p->message_bytes, bytes < UINT32_MAX - open ? open + (uint32_t)bytes : UINT32_MAX);
    if (is_small_write(p, small, bytes)) {
        uint16_t before = LOAD(&p->small_writes);
        if (before == 1)
            __atomic_fetch_add(&c->counts.bursts, 1, __ATOMIC_RELAXED);
        STORE(&p->small_writes, (uint16_t)(before + (before != UINT16_MAX)));
    }
}

void shim_tally_catch_up(void) {
    if (stats_file_wanted())
        stats_file_make();
    if (control_changed())
        sweep_told();
}

/* Before a write of a connection that has c->evidence.  The lock may have to be released for a moment.
 * Returns the connection, locked, or NULL. */
static struct conn *tally(struct conn *c, int fd) {
    if (UNLIKELY(tally_pending())) {
        conn_unlock(c);
        shim_tally_catch_up();
        c = shim_lock_fd(fd);
    }
    if (c && c->evidence)
        tally_write_begins(c);
    return c;
}

/* ---- after the send; no lock held; errno is the call's: calls of our own leave it (raw.h) ---- */

/* The kernel took only a part of the write, or none.  `held`: bytes were held before this write, and still
 * are.  If the descriptor is no socket, the application has closed it and the kernel has used its number
 * again, unseen by us: the call is made once more, unchanged. */
COLD ssize_t undo(struct call call, struct write_args w, const struct write_request *other,
                  const struct policy_action *action, ssize_t sent, bool held) {
    struct conn *c = call.conn;
    if (sent < 0 && errno == ENOTSOCK) {
        fds_forget(w.fd);
        return forward(&w, other);
    }
    bool locked = call_lock(call);
    if (locked || !call_is_stale(call))
        conn_count_sent(c, w.bytes, sent);
    if (!locked)
        return sent;
    struct conn_counts *n = &c->counts;
    policy_no_room(&c->policy);
    if (sent < 0) {
        policy_unsent(&c->policy, action, w.bytes);
        __atomic_fetch_sub(&n->writes, 1, __ATOMIC_RELAXED); /* mode off counts without the lock */
        __atomic_fetch_sub(&n->messages, action->new_message, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&n->bursts, action->burst, __ATOMIC_RELAXED);
        n->suspected -= action->suspected;
        n->held_writes -= action->how == WRITE_MORE;
        if (UNLIKELY(c->evidence != NULL))
            tally_unsent(c, action);
        bool again = held && !c->held; /* a push came before this write failed */
        if (c->refs > 0) /* else its close has pushed it for the last time */
            STORE(&c->held, held);
        if (c->refs > 0 && again && !window_watch(c))
            hold_push(c, PUSH_PROCESS);
        policy_met(&c->policy, errno);
    }
    conn_unlock(c);
    return sent;
}

/* The kernel has taken the first bytes. */
static void note_established(struct call call) {
    struct conn *c = call.conn;
    if (!call_lock(call))
        return;
    policy_established(&c->policy);
    if (UNLIKELY(!c->evidence))
        evidence_begin(c); /* connected by a write (TCP Fast Open) */
    conn_unlock(c);
}

/* A push came between the decision to hold and the send: from another thread, or from the window while this
 * thread had no CPU.  The bytes came after the push, so the kernel holds them all the same. */
static void hold_after_push(struct call call) {
    struct conn *c = call.conn;
    if (!call_lock(call)) {
        if (!call_is_stale(call))
            reentry_set_aside(c, ASIDE_PUSH, 0);
        return;
    }
    if (c->refs > 0) { /* else its close sends the bytes */
        STORE(&c->held, true);
        hold_resume_turn(c);
        if (!window_watch(c))
            hold_push(c, PUSH_PROCESS);
    }
    conn_unlock(c);
}

/* A write in a mode that does not cure sent no byte; `error` is its errno, or 0.  If the mode changes later,
 * no write may appear to succeed after an error that the application has seen. */
static void note_not_sent(struct call call, int error) {
    struct conn *c = call.conn;
    if (!call_lock(call))
        return;
    policy_met(&c->policy, error);
    if (c->evidence)
        tally_unsent(c, NULL);
    conn_unlock(c);
}

/* ---- the send ---------------------------------------------------------------- */

/* Mode off: a caller's vector is not followed before the call, so a write is counted after it. */
INLINE ssize_t send_in_off(struct conn *c, struct write_args w, const struct write_request *other) {
    const struct call call = {.conn = c, .generation = LOAD_ACQUIRE(&c->generation)};
    uint32_t reads = LOAD(&c->counts.reads);
    ssize_t sent = forward(&w, other);
    if (UNLIKELY(call_is_stale(call)))
        return sent;
    if (sent < 0) {
        note_not_sent(call, errno);
    } else if (UNLIKELY(LOAD(&c->policy.mode) != MODE_OFF)) { /* meanwhile */
        conn_count_bytes(c, (uint64_t)sent);
    } else if (sent > 0) {
        count_in_off(c, config()->small, (size_t)sent);
        if (UNLIKELY(LOAD(&c->counts.reads) != reads)) /* another thread has read the answer: it is over */
            policy_forget_message(&c->policy);
    }
    return sent;
}

static ssize_t other_in_off(struct conn *c, const struct write_request *o) {
    return send_in_off(c, (struct write_args){0}, o);
}

ssize_t shim_one_in_off(int fd, const void *buffer, size_t bytes, int flags, enum out_form form,
                        struct conn *c) {
    return send_in_off(c, (struct write_args){fd, flags, buffer, bytes, form, 0}, NULL);
}

COLD void keep_evidence(struct conn *c, struct write_args w, const struct policy_action *action) {
    tally_written(c, action);
    evidence_wrote(c, action, &(struct evidence_write){w.fd, w.bytes, w.caller, .left = false});
}

/* Sends with MSG_MORE: the kernel holds it. */
INLINE ssize_t send_held(struct conn *c, const struct write_args *w, const struct write_request *other,
                         const struct parts *p, const struct policy_action *action) {
    bool was_held = c->held;
    STORE(&c->held, true);
    c->counts.held_writes++;
    if (!was_held && UNLIKELY(!window_watch(c)))
        STORE(&c->held, false); /* hold_after_push() pushes it */
    const struct call call = call_of(c);
    conn_unlock(c);
    ssize_t sent = other ? shim_forward_more(other, p)
                         : REAL(send)(w->fd, w->buffer, w->bytes, w->flags | MSG_MORE);
    if (UNLIKELY(sent != (ssize_t)w->bytes))
        sent = undo(call, *w, other, action, sent, was_held);
    if (sent > 0 && UNLIKELY(!LOAD(&c->held)))
        hold_after_push(call);
    return sent;
}

/* Sends it, and what is held before it. */
INLINE ssize_t send_now(struct conn *c, const struct write_args *w, const struct write_request *other,
                        const struct policy_action *action) {
    bool was_held = c->held;
    const bool established = !other || c->policy.established;
    const struct call call = call_of(c);
    if (UNLIKELY(was_held))
        STORE(&c->held, other && (w->flags & MSG_MORE));
    conn_unlock(c);
    if (UNLIKELY(was_held))
        self.releasing = c; /* in case this thread is cancelled in the call */
    ssize_t sent = forward(w, other);
    if (UNLIKELY(was_held))
        self.releasing = NULL;
    if (UNLIKELY(sent != (ssize_t)w->bytes))
        sent = undo(call, *w, other, action, sent, was_held);
    if (UNLIKELY(!established) && sent > 0)
        note_established(call);
    return sent;
}

/* Sets or restores TCP_NODELAY, or asks whether the write crosses an answer. */
static void prepare(struct conn *c, int fd, const struct policy_action *action) {
    decide_apply(c, action, fd);
    if (UNLIKELY(action->crossing))
        decide_crossing(c, fd);
}

COLD ssize_t prepare_and_send(struct conn *c, struct write_args w, const struct write_request *other,
                              const struct policy_action *action) {
    prepare(c, w.fd, action);
    bool first = c->counts.late_pushes == 1;
    ssize_t sent = send_now(c, &w, other, action);
    if (action->late_push)
        verbose_late_push(w.fd, w.bytes, first);
    return sent;
}

/* Counts a write that policy has decided about, and sends, holds or buffers it.  `p`: the parts of `other`.
 * Lock held; released before the send. */
INLINE ssize_t act(struct conn *c, const struct write_args *w, const struct write_request *other,
                   const struct parts *p, const struct policy_action *action) {
    count(c, action, w->bytes);
    if (other) /* one buffer comes here only in a mode that cures, which suspects nothing */
        c->counts.suspected += action->suspected;
    if (UNLIKELY(c->evidence != NULL))
        keep_evidence(c, *w, action);
    if (action->how == WRITE_COALESCE) {
        const struct iovec one = {(void *)(uintptr_t)w->buffer, w->bytes};
        coalesce_put(c, other ? p->iov : &one, other ? p->count : 1);
        conn_unlock(c);
        return (ssize_t)w->bytes;
    }
    if (other && buffer_length(c)) {
        prepare(c, w->fd, action);
        return coalesce_send_with(c, other, p);
    }
    if (action->how == WRITE_MORE)
        return send_held(c, w, other, p, action);
    return UNLIKELY(action->late_push || action->back_to_app || action->crossing)
               ? prepare_and_send(c, *w, other, action)
               : send_now(c, w, other, action);
}

/* ---- the preparation; lock held --------------------------------------------------- */

/* This write may be the first one held: decides whether the window's thread starts.  The lock is released
 * meanwhile.  Returns the connection, locked; NULL: it is closed. */
static struct conn *relock_after_window_decides(struct conn *c, int fd, const struct policy_write *w) {
    if (c->policy.unsure)
        hold_ask_facts(c); /* without them policy would refuse to hold now and agree later */
    struct policy_limits limits = decide_limits_of_write(c);
    limits.windowless = false;
    if (!policy_holds(&c->policy, &limits, w))
        return c;
    bool buffers = c->policy.mode == MODE_COALESCE;
    unsigned position = c->policy.position;
    conn_unlock(c);
    window_decide(buffers, position);
    return shim_lock_fd(fd);
}

/* Asks for the facts that policy needs.  Returns the connection, locked, or NULL. */
static struct conn *learn_facts_relocked(struct conn *c, int fd, const struct policy_write *w) {
    struct policy_limits limits = decide_limits();
    if (policy_buffers(&c->policy) && UNLIKELY(!policy_knows_sndbuf(&c->policy)) &&
        policy_may_hold_write(&c->policy, &limits, w))
        coalesce_learn_room(c, fd);
    return LIKELY(!window_undecided(window_state(), &c->policy)) ? c : relock_after_window_decides(c, fd, w);
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
        return coalesce_send_with(c, o, p);
    conn_unlock(c);
    return shim_forward(o);
}

/* ---- the size is known only after the call ------------------------------------------ */

static void join_turn(struct conn *c) {
    hold_give_up_other(c);
    hold_join_turn(c);
}

/* The kernel has taken a `piece`, about which nothing was decided before; `bytes` of it are not yet counted.
 * Lock held. */
static void decide_sent(struct conn *c, const struct evidence_write *piece, bool more, size_t bytes) {
    struct policy_limits limits = decide_limits();
    struct policy_action action = decide_write(c, &limits, &(struct policy_write){piece->bytes, more, true});
    action.crossing &= bytes == piece->bytes; /* of several pieces the second one waits, too */
    account(c, &action, bytes);
    evidence_wrote(c, &action, piece);
    decide_apply(c, &action, piece->fd); /* another thread may have written meanwhile */
    if (UNLIKELY(action.crossing))
        decide_crossed(c, piece->fd);
}

static void account_sent(struct conn *c, const struct write_request *o, size_t sent) {
    join_turn(c);
    decide_sent(c, &(struct evidence_write){o->fd, sent, o->caller, .left = true},
                (o->flags & MSG_MORE) != 0, sent);
    policy_established(&c->policy);
}

/* A write that connects (MSG_FASTOPEN).  The address is readable: the kernel has followed it. */
static ssize_t write_connects(const struct write_request *o) {
    struct call call = shim_connect_begins(o->fd);
    ssize_t sent = shim_forward(o);
    const struct sockaddr *address = o->message ? o->message->msg_name : o->address;
    socklen_t length = o->message ? o->message->msg_namelen : o->address_length;
    if (address && (sent >= 0 || errno == EINPROGRESS))
        shim_connect_ended(call, sent < 0 ? -1 : 0, address, length);
    if (sent > 0 && call.conn && call_lock(call)) {
        if (call.conn->evidence)
            tally_write_begins(call.conn);
        account_sent(call.conn, o, (size_t)sent);
        conn_unlock(call.conn);
    }
    return sent;
}

/* If there is nothing to do before the call, the call comes first: the kernel then checks the
 * caller's pointers before the library reads them. */
static ssize_t send_then_account(struct conn *c, const struct write_request *o) {
    uint32_t reads = c->counts.reads, open = c->policy.message_bytes;
    const struct call call = call_of(c);
    evidence_writes(c);
    conn_unlock(c);
    ssize_t sent = shim_forward(o);
    if (sent <= 0) {
        if (sent < 0 || UNLIKELY(LOAD(&c->evidence) != NULL))
            note_not_sent(call, sent < 0 ? errno : 0);
        return sent;
    }
    if (!call_lock(call)) {
        if (!call_is_stale(call))
            conn_count_bytes(c, (uint64_t)sent);
        return sent;
    }
    bool answered = UNLIKELY(c->counts.reads != reads); /* another thread has read it already */
    struct policy_limits limits = decide_limits();
    if (answered && open) { /* the last write of a finished message */
        bool small = is_small_write(&c->policy, limits.small, (size_t)sent);
        account(c, &(struct policy_action){.small_write = small}, (size_t)sent);
        conn_unlock(c);
        return sent;
    }
    account_sent(c, o, (size_t)sent);
    if (answered)
        policy_input(&c->policy, 1, 0, false);
    conn_unlock(c);
    return sent;
}

/* The connection's lock cannot be had. */
static enum bulk begins_aside(int fd, struct call *call) {
    *call = call_on(fd);
    return call->conn && aside_may_stand_behind(call->conn) ? BULK_ASIDE : BULK_GOES;
}

enum bulk shim_bulk_begins(int fd, int flags, bool raw, struct call *call) {
    *call = (struct call){0};
    if (!gate_enter())
        return BULK_GOES;
    struct conn *turn = LOAD(&self.turn);
    if (turn && fds_conn(fds_word(fd)) != turn)
        shim_other_write(fd);
    struct conn *c = shim_lock_fd(fd);
    if (c && UNLIKELY(c->evidence != NULL))
        c = tally(c, fd);
    if (!c)
        return begins_aside(fd, call);
    struct write_request o = {.fd = fd, .flags = flags, .raw = raw};
    if (buffer_length(c) && c->policy.mptcp)
        hold_push(c, PUSH_WRITE); /* MPTCP: MSG_MORE joins nothing */
    join_turn(c);
    enum bulk goes = buffer_length(c) ? coalesce_send_header(c, &o) : BULK_GOES;
    if (goes != BULK_GOES)
        return goes == BULK_ASIDE ? begins_aside(fd, call) : goes;
    if (UNLIKELY(c->pending_error)) {
        shim_tell_error(c, flags);
        return BULK_FAILS;
    }
    evidence_writes(c);
    *call = call_of(c);
    conn_unlock(c);
    return BULK_GOES;
}

/* Policy decides by the bytes moved, not by the bytes requested: callers of sendfile(2) and
 * splice(2) often pass a large length.  So the late push comes after the call, and pushes the
 * bytes that Nagle has kept back. */
void shim_bulk_ended(struct call call, int fd, unsigned pieces, ssize_t moved, bool more,
                     uintptr_t caller) {
    struct conn *c = call.conn;
    if (!c || moved == 0)
        return;
    if (UNLIKELY(!conn_lock(c))) {
        if (moved > 0 && !call_is_stale(call))
            conn_count_bytes(c, (uint64_t)moved);
        return;
    }
    bool stale = call_is_stale(call);
    if (moved < 0 || stale) {
        if (!stale)
            policy_met(&c->policy, errno);
        conn_unlock(c);
        return;
    }
    policy_established(&c->policy);
    STORE(&c->held, c->held && more); /* bytes sent with MSG_MORE wait, and ours before them */
    const struct evidence_write piece = {fd, (uint64_t)moved / pieces, caller, .left = true};
    for (unsigned i = 0; i < pieces; i++)
        decide_sent(c, &piece, more, i ? 0 : (size_t)moved);
    conn_unlock(c);
}

/* ---- a write that needs preparation, or is none of the usual ones ------------------- */

/* Lock held; released.  `joined`: the write has joined its turn already. */
static ssize_t decide_and_act(struct conn *c, const struct write_request *o, bool joined) {
    struct parts p;
    if (UNLIKELY(!parts_to_judge(c, o, &p)))
        return pass_on(c, o, &p);
    const struct policy_write w = {p.bytes, (o->flags & MSG_MORE) != 0, shim_special(o)};
    if (!joined)
        join_turn(c);
    c = learn_facts_relocked(c, o->fd, &w);
    if (UNLIKELY(!c))
        return aside_write(o);
    if (UNLIKELY((w.more || w.special) && c->buffer)) {
        hold_push(c, PUSH_WRITE); /* they leave as a unit before the decision about this write */
        if (UNLIKELY(c->pending_error))
            return shim_tell_error(c, o->flags);
    }
    struct policy_limits limits = decide_limits_of_write(c);
    limits.may_hold = limits.may_hold && window_state() != WINDOW_NONE; /* asked above: not this time */
    struct policy_action action = decide_write(c, &limits, &w);
    if (action.how == WRITE_COALESCE && UNLIKELY(!coalesce_begins(c, o->fd, &action, p.bytes)))
        return shim_write(o);
    return act(c, &(struct write_args){o->fd, o->flags, NULL, p.bytes, o->form, o->caller}, o, &p, &action);
}

/* The same, with all that may be to do before. */
static ssize_t write_prepared(struct conn *c, const struct write_request *o, bool joined) {
    if (UNLIKELY(c->policy.mode == MODE_OFF) && shim_only_counts(c)) {
        conn_unlock(c);
        return other_in_off(c, o);
    }
    if (UNLIKELY(c->pending_error))
        return shim_tell_error(c, o->flags);
    if (UNLIKELY(c->evidence != NULL)) {
        c = tally(c, o->fd);
        if (!c)
            return aside_write(o);
    }
    if (UNLIKELY(c->buffer && c->fd != o->fd) && !buffer_is_at(c, o->fd)) {
        conn_unlock(c);
        fds_forget(o->fd); /* this descriptor belongs to another connection now */
        return shim_write(o);
    }
    bool nothing_to_do = !mode_cures((enum mode)c->policy.mode) ||
                         (policy_waits_for_second(&c->policy) && !shim_surely_there(o));
    if (nothing_to_do && !c->held && !c->buffer)
        return send_then_account(c, o);
    return decide_and_act(c, o, joined);
}

ssize_t shim_write(const struct write_request *o) {
    if (UNLIKELY(!gate_enter()))
        return aside_write(o);
    uintptr_t word = fds_word(o->fd);
    if (self.turn && fds_conn(word) != self.turn)
        shim_other_write(o->fd);
    if (word != FDS_UNKNOWN && word <= FDS_LAST_TAG)
        return shim_forward(o);
    if (UNLIKELY(o->flags & MSG_FASTOPEN))
        return write_connects(o);
    if (fds_conn(word) && shim_only_counts(fds_conn(word)))
        return other_in_off(fds_conn(word), o);
    if (UNLIKELY(self.draining != NULL) && fds_conn(word) == self.draining)
        return aside_write(o); /* in a handler that has interrupted this thread's drain of it */
    if (config()->buffers && !o->raw)
        pthread_testcancel(); /* the write may be buffered, but stays a cancellation point */
    struct conn *c = shim_lock_fd(o->fd);
    return c ? write_prepared(c, o, false) : aside_write(o);
}

/* ---- one buffer, and nothing to prepare -------------------------------------------- */

COLD ssize_t go_on_unusual(struct write_args w) {
    const struct write_request o = request_of(w);
    return shim_write(&o);
}

COLD ssize_t go_on_prepared(struct conn *c, struct write_args w, bool joined) {
    const struct write_request o = request_of(w);
    return write_prepared(c, &o, joined);
}

/* True: no fact is missing or old, there is no pending error, and the mode cures. */
INLINE bool facts_are_current(const struct conn *c, const struct config *now) {
    return c->epoch == now->epoch && c->nodelay_checked == LOAD(&nodelay_epoch) &&
           !c->pending_error && mode_cures((enum mode)c->policy.mode) && c->policy.established;
}

/* Starts the statistics of a write.  False: take the slow path, because statistics need the lock
 * released, or because the decision depends on buffered bytes. */
COLD bool tally_begins(struct conn *c) {
    if (c->buffer || tally_pending())
        return false;
    tally_write_begins(c);
    return true;
}

ssize_t shim_write_fast(int fd, const void *buffer, size_t bytes, int flags, enum out_form form,
                        uintptr_t caller) {
    const struct write_args w = {fd, flags, buffer, bytes, form, caller};
    uintptr_t word = fds_word(fd);
    struct conn *c = fds_conn(word);
    if (UNLIKELY(!c || (flags & ~(MSG_NOSIGNAL | MSG_DONTWAIT)) || bytes - 1 >= SSIZE_MAX || !gate_is_open()))
        return go_on_unusual(w);
    const struct config *now = config();
    if (now->buffers)
        pthread_testcancel(); /* the write may be buffered, but stays a cancellation point */
    if (UNLIKELY(!conn_lock(c)))
        return go_on_unusual(w);
    struct conn *turn = self.turn; /* no handler opens one beneath the lock */
    if (UNLIKELY(fds_word(fd) != word || (turn && turn != c))) {
        conn_unlock(c);
        return go_on_unusual(w);
    }
    enum window_state window = window_state();
    if (UNLIKELY(!facts_are_current(c, now) || (c->evidence && !tally_begins(c)))) {
        shim_refresh(c);
        return go_on_prepared(c, w, false);
    }
    struct policy_limits limits = decide_limits_now(now, window);
    if (c->buffer) {
        if (UNLIKELY(c->fd != fd || window_undecided(window, &c->policy)) ||
            !coalesce_goes_on(c, buffer, bytes, &limits))
            return go_on_prepared(c, w, false);
        conn_unlock(c);
        return (ssize_t)bytes;
    }
    hold_join_turn(c);
    if (UNLIKELY(window_undecided(window, &c->policy)) ||
        (policy_buffers(&c->policy) && UNLIKELY(!coalesce_is_prepared(c, fd, buffer, bytes, &limits))))
        return go_on_prepared(c, w, true);
    struct policy_action action = {.how = WRITE_PLAIN};
    policy_decide(&c->policy, &limits, &(struct policy_write){.bytes = bytes}, &action);
    if (UNLIKELY(action.need_facts))
        return go_on_prepared(c, w, true);
    return act(c, &w, NULL, NULL, &action);
}
