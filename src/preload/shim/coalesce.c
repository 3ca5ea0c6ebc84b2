/* SPDX-License-Identifier: MIT
 *
 * Mode coalesce: what enters the buffer (coalesce_buffer.h), and what must stand behind it.
 *
 * A write that policy sends while bytes are buffered leaves with them by one sendmsg.  If the kernel has no
 * room for the buffered bytes, a blocking write sends them by a blocking call without the lock (drain()):
 * then the connection is marked `draining`, and all others wait behind it.  Three facts about the connection
 * may change while the lock is released: its slot may be used again (call_is_stale), the number may lead to
 * another file (follow), and the buffer may be another one.
 */
#include "coalesce.h"

#include <linux/futex.h>

#include "real.h"
#include "reentry.h"

enum {
    PARTS = 64,
    MOST_BYTES = INT_MAX & ~0xfff, /* of one call, on a page of 4096 bytes: write(2) */
};

/* ---- a write may enter the buffer ------------------------------------------ */

void coalesce_learn_room(struct conn *c, int fd) {
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

bool coalesce_begins(struct conn *c, int fd, const struct policy_action *action, size_t bytes) {
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
            fds_note_cookie(c, cookie);
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

/* ---- a write behind buffered bytes ------------------------------------------- */

/* It may block.  It is a cancellation point if the application's call is one. */
static ssize_t send_parts(const struct write_request *o, struct iovec *parts, size_t count, int flags) {
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    return UNLIKELY(o->raw) ? REAL(syscall)(SYS_sendmsg, o->fd, &message, flags | MSG_NOSIGNAL)
                            : REAL(sendmsg)(o->fd, &message, flags | MSG_NOSIGNAL);
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
        ssize_t sent = send_parts(o, rest, used, o->flags);
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

/* The call fails.  Lock held; released.  Returns -1. */
static ssize_t fail(struct conn *c, int error, int flags) {
    conn_unlock(c);
    return shim_fail(error, flags);
}

/* Another thread is blocked in drain(), and this call does not block.  If the kernel has no room, it fails
 * with EAGAIN.  After that the application expects a writability event (edge-triggered): the query for
 * writability makes the kernel record a waiter for room (poll(2)), so that the event comes.  BULK_ASIDE:
 * there is room, so the other thread is about to return.  Lock held; released. */
static enum bulk drained_by_other(struct conn *c, const struct write_request *o) {
    bool room = kernel->writable(o->fd, 0) > 0;
    if (!room)
        policy_no_room(&c->policy);
    conn_unlock(c);
    if (room)
        return BULK_ASIDE;
    shim_fail(EAGAIN, o->flags);
    return BULK_FAILS;
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
    ssize_t sent = send_parts(o, &front, 1, 0);
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

/* For a blocking write behind buffered bytes when the send buffer is full: sends the buffered bytes by a
 * blocking call, so that EINTR, SA_RESTART and SO_SNDTIMEO keep their effect.  BULK_ASIDE: the lock cannot be
 * had again.  Lock held; released but for BULK_GOES. Where the application's descriptor is closed meanwhile,
 * o->fd becomes one of our own, which the caller closes. */
static enum bulk drain(struct conn *c, struct write_request *o) {
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
        shim_fail(error, o->flags);
        return BULK_FAILS;
    }
    return locked ? BULK_GOES : BULK_ASIDE;
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

/* `aside`: nothing of it is sent, the lock is released, and another thread is in front of it. */
static ssize_t send_behind(struct conn *c, struct write_request *o, const struct parts *p,
                           bool *aside) {
    if (UNLIKELY(c->shut_when_sent))
        return fail(c, EPIPE, o->flags);
    if (UNLIKELY(c->draining) && shim_non_blocking(o)) {
        *aside = drained_by_other(c, o) == BULK_ASIDE;
        return -1;
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
        return fail(c, (int)-sent, o->flags);
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
        return sent > 0 ? sent : shim_fail(EAGAIN, o->flags);
    }
    if (buffer_length(c)) {
        enum bulk end = drain(c, o);
        *aside = end == BULK_ASIDE && sent <= 0;
        if (end != BULK_GOES)
            return sent > 0 ? sent : -1;
    }
    conn_unlock(c);
    return sent > 0 ? send_rest(call, o, p, sent) : shim_forward(o);
}

ssize_t coalesce_send_with(struct conn *c, const struct write_request *o, const struct parts *p) {
    const struct call call = call_of(c);
    struct write_request now = *o;
    bool aside = false;
    ssize_t sent = send_behind(c, &now, p, &aside);
    if (p->valid && UNLIKELY(sent != (ssize_t)p->bytes) && !call_is_stale(call))
        conn_count_sent(c, p->bytes, sent);
    if (UNLIKELY(aside))
        sent = aside_write(&now);
    if (UNLIKELY(now.fd != o->fd))
        kernel->close(now.fd);
    return sent;
}

/* ---- a bulk call behind buffered bytes -------------------------------------- */

enum bulk coalesce_send_header(struct conn *c, const struct write_request *o) {
    if (UNLIKELY(c->draining) && shim_non_blocking(o))
        return drained_by_other(c, o);
    if (c->draining || !buffer_flush(c, MSG_MORE)) {
        struct write_request now = *o;
        if (shim_non_blocking(o)) {
            fail(c, EAGAIN, o->flags);
            return BULK_FAILS;
        }
        enum bulk end = drain(c, &now);
        if (end != BULK_GOES)
            return end;
        if (UNLIKELY(now.fd != o->fd)) { /* closed meanwhile: the call would go to another file */
            fail(c, EBADF, o->flags);
            kernel->close(now.fd);
            return BULK_FAILS;
        }
    }
    if (LIKELY(!c->pending_error)) {
        STORE(&c->held, true);
        window_watch(c);
    }
    return BULK_GOES;
}
