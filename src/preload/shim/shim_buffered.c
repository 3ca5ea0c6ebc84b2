/* SPDX-License-Identifier: MIT
 *
 * Writes behind buffered bytes: always in order, and in one sendmsg if possible.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "coalesce_buffer.h"
#include "kernel.h"
#include "raw.h"
#include "real.h"
#include "shim_parts.h"

enum { PARTS = 64 };

/* ---- errors of our own sends ----------------------------------------- */

int shim_take_error(struct conn *c) {
    int error = c->pending_error;
    STORE(&c->pending_error, 0);
    return error;
}

ssize_t shim_fail(int error, int flags) {
    if (error == EPIPE && !(flags & MSG_NOSIGNAL))
        raw3(SYS_tgkill, raw0(SYS_getpid), raw0(SYS_gettid), SIGPIPE);
    errno = error;
    return -1;
}

ssize_t shim_tell_error(struct conn *c, int flags) {
    int error = shim_take_error(c);
    conn_unlock(c);
    return shim_fail(error, flags);
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
        return REAL(syscall)(SYS_sendmsg, o->fd, &message, o->flags);
    return REAL(sendmsg)(o->fd, &message, o->flags);
}

/* Sends the rest of `p` after its first `done` bytes, by calls of a few parts each
 * (threads may have small stacks).  Returns the bytes sent, or -1 if none was. */
static ssize_t forward_rest(const struct write_request *o, const struct parts *p, size_t done) {
    ssize_t total = 0;
    while (done < p->bytes) {
        struct iovec rest[PARTS];
        size_t used = 0, skip = done, offered = 0;
        for (size_t i = 0; i < p->count && used < PARTS; i++) {
            struct iovec part = p->iov[i];
            size_t gone = skip < part.iov_len ? skip : part.iov_len;
            skip -= gone;
            part.iov_base = (char *)part.iov_base + gone;
            part.iov_len -= gone;
            offered += part.iov_len;
            if (part.iov_len)
                rest[used++] = part;
        }
        ssize_t sent = send_many(o, rest, used);
        if (sent < 0)
            return total ? total : -1;
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

bool shim_drained(struct conn *c, int fd) {
    /* no sched_yield(2): that thread may have a lower priority */
    while (c->draining) {
        if (kernel->writable(fd, 0) <= 0)
            return false;
        conn_unlock(c);
        raw_sleep(50000);
        conn_lock(c);
    }
    return true;
}

/* Another thread is blocked in the send.  The pause is a cancellation point because the write is one. */
static void wait_a_moment(struct conn *c, const struct write_request *o) {
    struct timespec moment = {.tv_nsec = 1000000};
    conn_unlock(c);
    if (o->raw)
        raw2(SYS_nanosleep, &moment, NULL);
    else
        REAL(nanosleep)(&moment, NULL);
    conn_lock(c);
}

/* Sends the buffered bytes by a blocking call, without the lock.  Returns 0 or the errno of the call. */
static int send_front(struct conn *c, const struct write_request *o) {
    struct conn *outer = self.draining; /* in a handler: the interrupted code may be draining, too */
    struct coalesce_buffer *sending = c->buffer;
    struct iovec front = buffer_front(c);
    struct kernel_tcp_info before = {0};
    sending->exact = kernel->tcp_info(c->fd, &before) == 0;
    sending->before = before.bytes_sent + before.bytes_queued;
    sending->in_flight = true; /* in case a handler interrupts the send and never returns */
    STORE(&c->draining, true);
    self.draining = c;
    conn_unlock(c);
    ssize_t sent = send_one(o, front);
    int error = sent < 0 ? errno : 0;
    conn_lock(c);
    self.draining = outer;
    if (UNLIKELY(c->buffer != sending))
        return error; /* closed unseen meanwhile: c is another connection, or the child's copy */
    STORE(&c->draining, false);
    sending->in_flight = false;
    if (error) {
        if (error != EINTR && error != EAGAIN)
            buffer_free(c);
        policy_met(&c->policy, error);
        return error;
    }
    buffer_sent(c, (size_t)sent);
    if (buffer_length(c) && UNLIKELY(!buffer_is_at(c, c->fd)))
        buffer_free(c);
    if (LOAD(&c->deferred))
        reentry_take_in(c);
    return 0;
}

bool shim_drain(struct conn *c, const struct write_request *o) {
    while (buffer_length(c)) {
        if (c->draining) {
            wait_a_moment(c, o);
            continue;
        }
        int error = send_front(c, o);
        if (error) {
            conn_unlock(c);
            shim_fail(error, o->flags);
            return false;
        }
    }
    return true;
}

ssize_t shim_send_after_buffered(struct conn *c, const struct write_request *o, const struct parts *p) {
    if (UNLIKELY(c->draining) && shim_non_blocking(o) && !shim_drained(c, o->fd)) {
        policy_no_room(&c->policy);
        conn_unlock(c);
        return shim_fail(EAGAIN, o->flags);
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
        return shim_fail((int)-sent, o->flags);
    }
    if (sent >= 0 && (size_t)sent == p->bytes) {
        conn_unlock(c);
        return sent;
    }
    policy_no_room(&c->policy);
    if (shim_non_blocking(o)) {
        conn_unlock(c);
        return sent > 0 ? sent : shim_fail(EAGAIN, o->flags);
    }
    if (buffer_length(c) && !shim_drain(c, o))
        return -1;
    conn_unlock(c);
    if (sent <= 0)
        return shim_forward(o);
    ssize_t rest = forward_rest(o, p, (size_t)sent);
    return rest < 0 ? sent : sent + rest;
}
