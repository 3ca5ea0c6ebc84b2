/* SPDX-License-Identifier: MIT
 *
 * Writes that do not take the road of write.c to its end.  The first kind is of mode coalesce alone:
 *
 *   shim_send_after_buffered()  the write road has decided to send, and the buffer is not empty: both leave
 *                               by one sendmsg.  If the kernel has no room for the buffered bytes, a blocking
 *                               write sends them by a blocking call without the lock (shim_drain): then the
 *                               connection is marked `draining`, and all others wait behind it.
 *
 * The others are of every mode:
 *
 *   shim_bulk_begins(), shim_bulk_ended()  sendfile, splice, sendmmsg: their bytes can neither be held nor
 *                               buffered, and policy learns of them afterwards
 *   reentry_write(), reentry_move(), reentry_messages()  the lock cannot be had: the call passes, or its
 *                               bytes are set aside (reentry.h)
 *
 * Three facts about the connection may change while the lock is released: its slot may be used again
 * (call_is_stale), the number may lead to another file (follow), and the buffer may be another one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "coalesce_buffer.h"
#include "evidence.h"
#include "fds.h"
#include "kernel.h"
#include "raw.h"
#include "readable.h"
#include "real.h"
#include "reentry.h"
#include "shim.h"
#include "turn.h"
#include "window.h"

enum {
    PARTS = 64,
    MOST_BYTES = INT_MAX & ~0xfff, /* of one call, on a page of 4096 bytes: write(2) */
};

/* ---- errors of our own sends ----------------------------------------- */

int shim_take_error(struct conn *c) {
    int error = c->pending_error;
    STORE(&c->pending_error, 0);
    return error;
}

/* As by the kernel, which says SI_USER of its own SIGPIPE.  tgkill(2) says SI_TKILL; a filter that lets
 * raise(3) pass lets it pass, too. */
static void raise_sigpipe(void) {
    long process = raw0(SYS_getpid), task = raw0(SYS_gettid);
    siginfo_t about = {.si_signo = SIGPIPE, .si_code = SI_USER};
    about.si_pid = (pid_t)process;
    about.si_uid = (uid_t)raw0(SYS_getuid);
    if (config()->no_syscalls || raw4(SYS_rt_tgsigqueueinfo, process, task, SIGPIPE, &about) != 0)
        raw3(SYS_tgkill, process, task, SIGPIPE);
}

/* Fails a write as the kernel would: EPIPE raises SIGPIPE, too.  No lock held. */
static ssize_t fail(int error, int flags) {
    if (error == EPIPE && !(flags & MSG_NOSIGNAL))
        raise_sigpipe();
    errno = error;
    return -1;
}

ssize_t shim_tell_error(struct conn *c, int flags) {
    int error = shim_take_error(c);
    conn_unlock(c);
    return fail(error, flags);
}

/* ---- behind buffered bytes ------------------------------------------- */

/* These sends may block.  They are a cancellation point if the application's call is one. */
static ssize_t send_one(const struct write_request *o, struct iovec part) {
    if (UNLIKELY(o->raw))
        return REAL(syscall)(SYS_sendto, o->fd, part.iov_base, part.iov_len, MSG_NOSIGNAL, NULL, 0);
    return REAL(send)(o->fd, part.iov_base, part.iov_len, MSG_NOSIGNAL);
}

static ssize_t send_many(const struct write_request *o, struct iovec *parts, size_t count) {
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    if (UNLIKELY(o->raw))
        return REAL(syscall)(SYS_sendmsg, o->fd, &message, o->flags | MSG_NOSIGNAL);
    return REAL(sendmsg)(o->fd, &message, o->flags | MSG_NOSIGNAL);
}

/* Sends the rest of `p` after its first `done` bytes, by calls of a few parts each
 * (threads may have small stacks).  Returns the bytes sent; `error` is the errno that ended it, or 0. */
static ssize_t forward_rest(const struct write_request *o, const struct parts *p, size_t done, int *error) {
    size_t all = p->bytes < MOST_BYTES ? p->bytes : MOST_BYTES;
    ssize_t total = 0;
    *error = 0;
    while (done < all) {
        struct iovec rest[PARTS];
        size_t used = 0, skip = done, offered = 0;
        for (size_t i = 0; i < p->count && used < PARTS; i++) {
            struct iovec part = p->iov[i];
            size_t gone = skip < part.iov_len ? skip : part.iov_len;
            skip -= gone;
            part.iov_base = (char *)part.iov_base + gone;
            part.iov_len -= gone;
            if (part.iov_len > all - done - offered)
                part.iov_len = all - done - offered;
            offered += part.iov_len;
            if (part.iov_len)
                rest[used++] = part;
        }
        ssize_t sent = send_many(o, rest, used);
        if (sent < 0) {
            *error = errno;
            return total;
        }
        total += sent;
        done += (size_t)sent;
        if ((size_t)sent < offered)
            break; /* interrupted or timed out: the application gets a partial write */
    }
    return total;
}

bool shim_non_blocking(const struct write_request *o) {
    if (o->flags & MSG_DONTWAIT)
        return true;
    int flags = kernel->status_flags(o->fd);
    return flags >= 0 && (flags & O_NONBLOCK);
}

/* Another thread is blocked in shim_drain(): waits for it as long as the kernel has room.  False: there is
 * no room, and the write may fail with EAGAIN.  After EAGAIN the application expects a writability event
 * (edge-triggered).  The query for writability makes the kernel record a waiter for room (poll(2)), so that
 * the event comes.  DRAINED: the other thread has returned.  DRAIN_STOPPED: it has not, although there is
 * room; then, and only then, the lock is released.  Lock held. */
enum drained { DRAINED, DRAIN_FULL, DRAIN_STOPPED };
static enum drained drained_by_other(struct conn *c, int fd) {
    enum { LOOKS = 2000, LOOK_NS = 50000 }; /* a tenth of a second */
    const struct call call = call_of(c);
    /* no sched_yield(2): that thread may have a lower priority */
    for (int i = 0; !call_is_stale(call) && c->draining; i++) {
        if (kernel->writable(fd, 0) <= 0)
            return DRAIN_FULL;
        conn_unlock(c);
        if (i >= LOOKS)
            return DRAIN_STOPPED;
        raw_sleep(LOOK_NS);
        if (!conn_lock(c))
            return DRAIN_STOPPED;
    }
    return DRAINED;
}

/* Another thread is blocked in the send.  futex(2) without a timeout goes on or ends with EINTR at a signal
 * (SA_RESTART), and is a cancellation point here, as the write is.  Returns 0 or EINTR.  Not `locked`: the
 * lock cannot be had again. */
static int wait_for_drain(struct conn *c, const struct write_request *o, bool *locked) {
    const uint32_t seen = LOAD(&drains_changed);
    int type;
    conn_unlock(c);
    if (!o->raw)
        // NOLINTNEXTLINE(cert-pos47-c): only for the wait, as in libc's own write
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    int error = REAL(syscall)(SYS_futex, &drains_changed, FUTEX_WAIT_PRIVATE, seen, NULL) < 0 ? errno : 0;
    if (!o->raw)
        pthread_setcanceltype(type, &type);
    *locked = conn_lock(c);
    return error == EINTR ? EINTR : 0;
}

/* Sends the buffered bytes by a blocking call, without the lock.  Returns 0 or the errno of the call.  Not
 * `locked`: the lock cannot be had again, and its holder notes what was sent. */
static int send_front(struct conn *c, const struct write_request *o, bool *locked) {
    struct conn *outer = self.draining; /* in a handler: the interrupted code may be draining, too */
    uintptr_t outer_frame = self.drain_frame;
    struct coalesce_buffer *sending = c->buffer;
    struct kernel_tcp_info before = {0};
    bool exact = kernel->tcp_info(c->fd, &before) == 0;
    /* in case a handler interrupts the send and never returns */
    struct iovec front = buffer_begins_to_send(sending, before.bytes_sent + before.bytes_queued, exact);
    STORE(&c->draining, true);
    reentry_drains(c);
    conn_unlock(c);
    ssize_t sent = send_one(o, front);
    int error = sent < 0 ? errno : 0;
    *locked = conn_lock(c);
    bool is_ours = LOAD(&c->buffer) ==
                   sending; /* else closed unseen: another connection, or the child's copy */
    if (is_ours)
        sending->drained = error ? -error : sent;
    if (is_ours && *locked)
        buffer_drained(c);
    else if (is_ours)
        reentry_set_aside(c, ASIDE_DRAINED, 0);
    reentry_drains(outer);
    self.drain_frame = outer_frame;
    if (*locked && !error && LOAD(&c->aside))
        reentry_take_in(c);
    return error;
}

/* The lock was released during a call by o->fd, which may have been closed meanwhile; its number may lead to
 * another file.  The kernel lets a blocked call go on with the old socket, so o->fd becomes a descriptor of
 * our own of it.  Returns 0, or EBADF where the socket has no descriptor any more. */
static int follow(struct call call, struct write_request *o) {
    if (LIKELY(!call_is_stale(call) && fds_word(o->fd) == (uintptr_t)call.conn))
        return 0;
    int own = call_is_stale(call) ? -1 : kernel->dup_above(call.conn->fd, CLOSE_LOWEST);
    if (own < 0)
        return EBADF;
    o->fd = own;
    return 0;
}

/* For a blocking write behind buffered bytes when the send buffer is full: sends the
 * buffered bytes by a blocking call, so that EINTR, SA_RESTART and SO_SNDTIMEO keep
 * their effect.  DRAIN_FAILS: errno is set and the lock is released.  DRAIN_MISSED: the lock cannot be had
 * again.
 * Where the application's descriptor is closed meanwhile, o->fd becomes one of our own, for
 * close_own(). */
enum drain { DRAIN_OVER, DRAIN_FAILS, DRAIN_MISSED };
static enum drain shim_drain(struct conn *c, struct write_request *o) {
    const struct call call = call_of(c);
    const int fd = o->fd;
    int error = 0;
    bool locked = true;
    while (!error && locked && !call_is_stale(call) && buffer_length(c)) {
        error = c->draining ? wait_for_drain(c, o, &locked) : send_front(c, o, &locked);
        if (!error && locked && o->fd == fd)
            error = follow(call, o);
    }
    if (UNLIKELY(error)) {
        if (locked)
            conn_unlock(c);
        fail(error, o->flags);
        return DRAIN_FAILS;
    }
    return locked ? DRAIN_OVER : DRAIN_MISSED;
}

/* Closes o->fd if it is not `fd`.  No lock held; errno unchanged. */
static void close_own(const struct write_request *o, int fd) {
    int saved = errno;
    if (UNLIKELY(o->fd != fd))
        kernel->close(o->fd);
    errno = saved;
}

/* Sends what is left of a write whose first `sent` bytes have left.  The kernel tells the error that ends a
 * write after its first bytes at the next call. */
static ssize_t send_rest(struct call call, const struct write_request *o, const struct parts *p,
                         ssize_t sent) {
    int error;
    ssize_t rest = forward_rest(o, p, (size_t)sent, &error);
    if (UNLIKELY(error) && call_lock(call)) {
        buffer_met_behind(call.conn, error);
        conn_unlock(call.conn);
    }
    return sent + rest;
}

/* `aside`: nothing of it is sent, the lock is released, and a thread that has stopped is in front of it. */
static ssize_t send_behind(struct conn *c, struct write_request *o, const struct parts *p,
                           bool *aside) {
    if (UNLIKELY(c->shut_when_sent)) {
        conn_unlock(c);
        return fail(EPIPE, o->flags);
    }
    if (UNLIKELY(c->draining) && shim_non_blocking(o)) {
        enum drained drained = drained_by_other(c, o->fd);
        *aside = drained == DRAIN_STOPPED;
        if (*aside)
            return -1;
        if (drained == DRAIN_FULL) {
            policy_no_room(&c->policy);
            conn_unlock(c);
            return fail(EAGAIN, o->flags);
        }
    }
    /* a write with the application's own MSG_MORE must not hold back the buffered bytes before it */
    bool alone = !p->valid || shim_special(o) || (o->flags & MSG_MORE) || c->draining;
    ssize_t sent = -EAGAIN;
    if (!alone) {
        sent = buffer_send(c, o->fd, p->iov, p->count, o->flags);
        c->counts.pushes[PUSH_WRITE]++;
    } else if (!c->draining && buffer_flush(c, 0) && !c->pending_error) {
        conn_unlock(c);
        return shim_forward(o);
    }
    if (c->pending_error)
        return shim_tell_error(c, o->flags);
    if (sent < 0 && sent != -EAGAIN) {
        policy_met(&c->policy, (int)-sent);
        conn_unlock(c);
        return fail((int)-sent, o->flags);
    }
    if (sent >= 0 && (size_t)sent == p->bytes) {
        conn_unlock(c);
        return sent;
    }
    const struct call call = call_of(c);
    bool all_parts = p->count < PARTS; /* otherwise buffer_send() has taken the first ones */
    policy_no_room(&c->policy);
    if (shim_non_blocking(o) && (sent <= 0 || all_parts)) {
        conn_unlock(c);
        return sent > 0 ? sent : fail(EAGAIN, o->flags);
    }
    if (buffer_length(c)) {
        enum drain drain = shim_drain(c, o);
        *aside = drain == DRAIN_MISSED && sent <= 0;
        if (drain != DRAIN_OVER)
            return sent > 0 ? sent : -1;
    }
    conn_unlock(c);
    return sent > 0 ? send_rest(call, o, p, sent) : shim_forward(o);
}

ssize_t shim_send_after_buffered(struct conn *c, const struct write_request *o, const struct parts *p) {
    const struct call call = call_of(c);
    struct write_request now = *o;
    bool aside = false;
    ssize_t sent = send_behind(c, &now, p, &aside);
    if (p->valid && UNLIKELY(sent != (ssize_t)p->bytes) && !call_seems_stale(call))
        conn_count_sent(c, p->bytes, sent);
    if (UNLIKELY(aside))
        sent = reentry_write(&now);
    close_own(&now, o->fd);
    return sent;
}

/* ---- bulk calls ----------------------------------------------------------
 *
 * Calls that move bytes into a connection but can be neither held nor buffered.
 */

/* The connection's lock cannot be had. */
static enum bulk begins_aside(int fd, struct call *call) {
    *call = call_on(fd);
    return call->conn && reentry_may_stand_behind(call->conn) ? BULK_ASIDE : BULK_GOES;
}

enum bulk shim_bulk_begins(int fd, int flags, bool raw, struct call *call) {
    *call = (struct call){0};
    if (!gate_enter())
        return BULK_GOES;
    struct conn *turn = LOAD(&self.turn);
    if (turn && fds_conn(fds_word(fd)) != turn)
        shim_other_write(fd);
    struct conn *c = conn_lock_fd(fd);
    if (c && UNLIKELY(c->evidence != NULL))
        c = shim_tally(c, fd);
    if (!c)
        return begins_aside(fd, call);
    struct write_request o = {.fd = fd, .flags = flags, .raw = raw};
    if (buffer_length(c) && c->policy.mptcp)
        hold_push(c, PUSH_WRITE); /* MPTCP: MSG_MORE joins nothing */
    hold_join_turn(c);
    if (buffer_length(c)) {
        /* the buffered header leaves in the same segments as the bytes of this call */
        bool no_wait = UNLIKELY(c->draining) && shim_non_blocking(&o);
        enum drained drained = no_wait ? drained_by_other(c, fd) : c->draining ? DRAIN_FULL : DRAINED;
        if (drained == DRAIN_STOPPED)
            return begins_aside(fd, call);
        if (drained == DRAIN_FULL || !buffer_flush(c, MSG_MORE)) {
            if (no_wait || shim_non_blocking(&o)) {
                conn_unlock(c);
                errno = EAGAIN;
                return BULK_FAILS;
            }
            enum drain drain = shim_drain(c, &o);
            if (drain != DRAIN_OVER)
                return drain == DRAIN_FAILS ? BULK_FAILS : begins_aside(fd, call);
            if (UNLIKELY(o.fd != fd)) { /* closed meanwhile: the call would go to another file */
                conn_unlock(c);
                close_own(&o, fd);
                errno = EBADF;
                return BULK_FAILS;
            }
        }
        if (LIKELY(!c->pending_error)) {
            STORE(&c->held, true);
            window_watch(c);
        }
    }
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
    int saved = errno;
    if (UNLIKELY(!conn_lock(c))) {
        if (moved > 0 && !call_seems_stale(call))
            conn_count_bytes(c, (uint64_t)moved);
        errno = saved;
        return;
    }
    bool stale = call_is_stale(call);
    if (moved < 0 || stale) {
        if (!stale)
            policy_met(&c->policy, saved);
        conn_unlock(c);
        errno = saved;
        return;
    }
    policy_established(&c->policy);
    STORE(&c->held, c->held && more); /* bytes sent with MSG_MORE wait, and ours before them */
    struct policy_limits limits = decide_limits();
    struct policy_write w = {(size_t)moved / pieces, more, true};
    struct evidence_write made = {fd, (uint64_t)moved / pieces, caller};
    for (unsigned i = 0; i < pieces; i++) {
        struct policy_action action = decide_write(c, &limits, &w);
        shim_account(c, &action, i ? 0 : (size_t)moved);
        evidence_wrote(c, &action, &made);
        decide_apply(c, &action, fd);
    }
    conn_unlock(c);
    errno = saved;
}

/* ---- the lock cannot be had ------------------------------------------------------- */

/* Keeps `bytes` of a write aside, from its byte `at` on. */
static bool keep(struct call call, const struct parts *p, size_t at, size_t bytes) {
    struct piece *piece = reentry_piece(call.generation, bytes);
    if (!piece)
        return false;
    for (size_t i = 0; i < p->count && piece->bytes < bytes; i++) {
        size_t skip = at < p->iov[i].iov_len ? at : p->iov[i].iov_len, n = p->iov[i].iov_len - skip;
        at -= skip;
        if (n > bytes - piece->bytes)
            n = bytes - piece->bytes;
        memcpy(piece->data + piece->bytes, (const char *)p->iov[i].iov_base + skip, n);
        piece->bytes += (uint32_t)n;
    }
    reentry_keep_aside(call.conn, piece);
    return true;
}

/* Keeps the bytes of a write for later.  Of a handler's, or a non-blocking one, bytes that do not fit are not
 * accepted (a partial write).  Without memory the write fails: sent at once it would overtake the bytes in
 * front of it. */
static ssize_t defer(struct call call, const struct write_request *o, const struct parts *p) {
    size_t most = p->bytes < PIECE_MOST ? p->bytes : PIECE_MOST, kept = 0;
    if (p->bytes == 0)
        return shim_forward(o);
    if (p->bytes > most && self.depth == 0 && !shim_non_blocking(o))
        most = p->bytes;
    if (LOAD(&call.conn->aside) & (ASIDE_SHUT | ASIDE_SHUTS))
        return fail(EPIPE, o->flags);
    if (!shim_parts_readable(p, most))
        return fail(EFAULT, o->flags);
    while (kept < most && keep(call, p, kept, most - kept < PIECE_MOST ? most - kept : PIECE_MOST))
        kept += most - kept < PIECE_MOST ? most - kept : PIECE_MOST;
    return kept ? (ssize_t)kept : fail(ENOBUFS, o->flags);
}

/* Passes a write that nothing stands in front of.  It is counted before it leaves, so that the kernel never
 * has more bytes than were counted; but in a mode that does not cure, nobody compares the counts, and the
 * caller's vector is not followed. */
static ssize_t pass(struct conn *c, const struct write_request *o) {
    struct parts p = {.bytes = o->bytes, .valid = true};
    if (mode_cures((enum mode)LOAD(&c->policy.mode)))
        shim_parts_of(o, &p);
    size_t counted = p.valid ? p.bytes : 0;
    conn_count_bytes(c, counted);
    ssize_t sent = shim_forward(o);
    conn_count_sent(c, counted, sent);
    if (sent > 0) {
        __atomic_fetch_add(&c->counts.writes, 1, __ATOMIC_RELAXED);
        if (LOAD(&c->held))
            reentry_set_aside(c, ASIDE_PUSH, 0); /* under Nagle they and this write may wait */
    }
    return sent;
}

/* True: the connections of this process are known to this call.  vfork(2) suspends this thread; the
 * kernel delivers pending signals before the thread can clear `vforked`.  A handler can then run
 * in the parent with the mark set, while other threads have buffered bytes. */
static bool knows_connections(void) {
    if (UNLIKELY(self.vforked))
        return LOAD(&window_process) && raw0(SYS_getpid) == LOAD(&window_process);
    return self.depth || self.draining || gate_enter();
}

/* True: this is no handler's call on the stack of the section that it has interrupted.  The handler has left,
 * or this is a coroutine's call, and the section goes on later. */
static bool comes_from_above(void) {
    return !self.vforked && (uintptr_t)__builtin_frame_address(0) > self.frame;
}

ssize_t reentry_write(const struct write_request *o) {
    const struct call call = knows_connections() ? call_on(o->fd) : (struct call){0};
    struct conn *c = call.conn;
    struct parts p;
    if (!c)
        return shim_forward(o);
    if (!reentry_may_stand_behind(c))
        return self.vforked ? shim_forward(o) : pass(c, o);
    shim_parts_of(o, &p);
    if (!p.valid)
        return shim_forward(o);
    struct conn *outer = self.locked;
    ssize_t sent;
    if (lock_is_mine(&c->lock) && comes_from_above() && !buffer_is_about_to_send(c) && reentry_last(c)) {
        sent = pass(c, o);
    } else if (lock_is_mine(&c->lock) || !conn_trylock(c)) {
        sent = defer(call, o, &p);
    } else if (c->draining) {
        conn_unlock(c);
        self.locked = outer;
        sent = defer(call, o, &p);
    } else if (buffer_length(c) && !call_is_stale(call)) {
        conn_count_bytes(c, p.bytes);
        sent = shim_send_after_buffered(c, o, &p);
    } else {
        conn_unlock(c);
        self.locked = outer;
        sent = self.vforked ? shim_forward(o) : pass(c, o);
    }
    self.locked = outer;
    return sent;
}

bool reentry_stands_behind_slow(int fd) {
    bool left = !self.vforked && self.depth && gate_enter();
    struct conn *c = fds_conn(fds_word(fd));
    bool beneath = !left && (self.depth || self.vforked || self.draining == c);
    return c && beneath && knows_connections() && reentry_may_stand_behind(c);
}

/* Reads the bytes and keeps them for later: the kernel would send them before the earlier bytes. */
ssize_t reentry_move(int fd, int from, off64_t *offset, size_t bytes) {
    const struct call call = call_on(fd);
    if (!call.conn)
        return fail(EBADF, MSG_NOSIGNAL); /* closed meanwhile */
    if (offset && !readable(offset, sizeof(*offset)))
        return fail(EFAULT, MSG_NOSIGNAL);
    struct piece *piece = reentry_piece(call.generation, bytes);
    if (!piece)
        return fail(ENOMEM, MSG_NOSIGNAL);
    struct iovec part = {piece->data, piece->room};
    /* preadv2(2) with offset -1 reads at the file offset and advances it */
    long got = raw6(SYS_preadv2, from, (long)&part, 1, RAW_HALVES(offset ? *offset : -1), 0);
    if (got <= 0) {
        reentry_unmap(piece);
        return got < 0 ? fail((int)-got, MSG_NOSIGNAL) : 0;
    }
    if (offset)
        *offset += got;
    piece->bytes = (uint32_t)got;
    reentry_keep_aside(call.conn, piece);
    return got;
}

int reentry_messages(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    unsigned sent = 0;
    for (; sent < count && sent < IOV_MAX; sent++) {
        if (!readable(&messages[sent], sizeof(messages[sent])))
            return sent ? (int)sent : (int)fail(EFAULT, flags);
        ssize_t n = reentry_write(&(struct write_request){.fd = fd,
                                               .form = FORM_SENDMSG,
                                               .message = &messages[sent].msg_hdr,
                                               .flags = flags});
        if (n < 0)
            return sent ? (int)sent : -1;
        messages[sent].msg_len = (unsigned)n;
    }
    return (int)sent;
}
