/* SPDX-License-Identifier: MIT
 *
 * The buffer of mode coalesce: bytes enter by buffer_put(), and leave by a sendmsg(2) that never blocks.
 *
 * A handler may jump out of that sendmsg, and a thread may be cancelled in it: then nobody knows how many
 * bytes the kernel has taken.  So a send first notes what the kernel had taken before (`before`, exact by
 * TCP_INFO where that is to be had) and sets `in_flight`; buffer_resolve() compares and drops what has
 * left.  A blocking send without the lock (drain() in coalesce.c) is noted the same way, and is over by
 * buffer_drained().
 */
#include "coalesce_buffer.h"

#include <linux/futex.h>
#include <sys/uio.h>

#include "clock.h"
#include "config.h"

enum { BUFFERS_PER_MAP = 8, MOST_PARTS = 64 /* on the caller's stack, which may be small */ };

static struct pool pool;
_Thread_local struct coalesce_buffer *buffer_spare;

static size_t size_of(uint32_t capacity) {
    return (sizeof(struct coalesce_buffer) + capacity + 63) & ~(size_t)63;
}

static inline void give_back(struct coalesce_buffer *g) {
    if (UNLIKELY(g->apart)) {
        raw_unmap(g, size_of(g->capacity));
        return;
    }
    if (UNLIKELY(self.spinning != NULL))
        return; /* a handler interrupted this thread inside a list: one buffer is lost */
    if (!buffer_spare)
        buffer_spare = g;
    else
        pool_give(&pool, g);
}

bool buffer_make_spare(void) {
    struct coalesce_buffer *g = pool_take(&pool, size_of(config()->small), BUFFERS_PER_MAP);
    if (g)
        *g = (struct coalesce_buffer){.capacity = config()->small};
    buffer_spare = g;
    return g != NULL;
}

bool buffer_is_at(const struct conn *c, int fd) {
    uint64_t now;
    return !c->cookie || (kernel->cookie(fd, &now) == 0 && now == c->cookie);
}

/* Buffered bytes must not reach another socket that has the number now.  So the socket is checked
 * before a send, unless the clock has not moved since the first byte. */
static bool buffer_lost(struct conn *c) {
    if (LIKELY(c->buffer->began == clock_coarse()))
        return false;
    int fd = c->fd;
    if (buffer_is_at(c, fd) || LOAD(&c->fd) != fd)
        return false; /* or a handler has closed the descriptor, and left another one for the buffer */
    buffer_free(c);
    return true;
}

void buffer_put(struct conn *c, const struct iovec *iov, size_t count) {
    struct coalesce_buffer *g = c->buffer;
    if (!g) {
        g = buffer_spare;
        buffer_spare = NULL;
        g->head = g->tail = 0;
        g->sent_to = 0;
        g->in_flight = false;
        g->began = clock_coarse();
        STORE(&c->buffer, g);
    }
    for (size_t i = 0; i < count; i++)
        buffer_copy(g, iov[i].iov_base, iov[i].iov_len);
}

/* Of the bytes that wait, buffer_send_last() has sent the first: how many. */
static inline uint32_t skip_sent(struct coalesce_buffer *g) {
    uint32_t sent = g->sent_to > g->head ? g->sent_to - g->head : 0;
    g->head += sent;
    return sent;
}

/* Makes room for `count` bytes.  No buffer of the pool: a handler may have interrupted pool_take(). */
static bool widen(struct conn *c, size_t count) {
    if (c->buffer)
        skip_sent(c->buffer);
    size_t waiting = buffer_length(c);
    if (waiting + count > UINT32_MAX / 2)
        return false;
    uint32_t capacity = (uint32_t)(2 * (waiting + count));
    struct coalesce_buffer *wider = raw_map(size_of(capacity));
    if (!wider)
        return false;
    *wider =
        (struct coalesce_buffer){.capacity = capacity, .apart = true, .tail = (uint32_t)waiting};
    wider->began = clock_coarse();
    if (waiting) {
        wider->began = c->buffer->began;
        memcpy(wider->bytes, c->buffer->bytes + c->buffer->head, waiting);
    }
    buffer_free(c);
    STORE(&c->buffer, wider);
    return true;
}

bool buffer_add(struct conn *c, const void *bytes, size_t count) {
    bool fits = c->buffer && count <= c->buffer->capacity - c->buffer->tail;
    if (!fits && !widen(c, count))
        return false;
    buffer_copy(c->buffer, bytes, count);
    return true;
}

void buffer_free(struct conn *c) {
    struct coalesce_buffer *g = c->buffer;
    STORE(&c->buffer, NULL);
    c->flush_blocked = c->waited = c->shut_when_sent = false;
    if (g)
        give_back(g);
}

void buffer_shut(struct conn *c) {
    if (buffer_length(c))
        c->shut_when_sent = true;
    else
        kernel->shut_writing(c->fd);
}

static inline void all_sent(struct conn *c) {
    if (UNLIKELY(c->shut_when_sent))
        kernel->shut_writing(c->fd);
    buffer_free(c);
}

void buffer_free_if_empty(struct conn *c) {
    if (c->buffer && buffer_length(c) == 0)
        all_sent(c);
}

/* Before and after a send of the first bytes.  A handler may leave at each instruction: until the bytes are
 * gone from the buffer, `in_flight` tells that the kernel may have them. */
struct iovec buffer_begins_to_send(struct coalesce_buffer *g, uint64_t before, bool exact) {
    g->before = before;
    g->from = g->head;
    g->exact = exact;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    g->in_flight = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    g->before += skip_sent(g); /* just before; from now on it sends none */
    g->from = g->head;
    return (struct iovec){g->bytes + g->head, g->tail - g->head};
}

static inline void has_sent(struct coalesce_buffer *g, size_t sent) {
    g->head = g->from + (uint32_t)sent;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    g->in_flight = false;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void buffer_keep_error(struct conn *c, int error) {
    STORE(&c->pending_error, error);
    policy_refuses(&c->policy);
}

/* Errors that concern this call only: a later send may succeed. */
static bool is_temporary(ssize_t error) {
    return error == -EAGAIN || error == -EINTR || error == -ENOBUFS || error == -ENOMEM;
}

/* Errors caused by the caller's arguments, not by the buffered bytes. */
static bool callers_fault(ssize_t error) {
    return error == -EFAULT || error == -EINVAL || error == -EMSGSIZE || error == -EOPNOTSUPP;
}

void buffer_met_behind(struct conn *c, int error) {
    /* EPIPE comes again by itself, and the other two tell nothing of this socket */
    bool gone = is_temporary(-error) || callers_fault(-error) || error == EPIPE || error == EBADF ||
                error == ENOTSOCK;
    policy_met(&c->policy, error);
    if (!gone)
        buffer_keep_error(c, error);
}

ssize_t buffer_send(struct conn *c, int fd, const struct iovec *iov, size_t count, int flags) {
    struct iovec parts[MOST_PARTS];
    if (buffer_length(c))
        buffer_lost(c);
    for (;;) {
        size_t waiting = buffer_length(c), used = waiting > 0, extra = 0;
        struct coalesce_buffer *g = waiting ? c->buffer : NULL;
        for (size_t i = 0; i < count && used < MOST_PARTS; i++) {
            extra += iov[i].iov_len;
            parts[used++] = iov[i];
        }
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = used};
        if (g) {
            parts[0] = buffer_begins_to_send(g, c->counts.bytes - waiting - extra, false);
            waiting = parts[0].iov_len;
        }
        ssize_t sent = kernel->send(fd, &message, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
        if (g)
            has_sent(g, sent < 0 ? 0 : (size_t)sent < waiting ? (size_t)sent : waiting);
        if (sent < 0 && waiting && used > 1 && callers_fault(sent)) {
            buffer_flush(c, 0);
            return sent;
        }
        if (sent < 0) {
            bool closed_meanwhile = sent == -EBADF && LOAD(&c->fd) != fd;
            if (waiting && !is_temporary(sent) && !closed_meanwhile) {
                buffer_keep_error(c, (int)-sent); /* the buffered bytes are lost */
                buffer_free(c);
            }
            return is_temporary(sent) ? -EAGAIN : sent;
        }
        if ((size_t)sent >= waiting) {
            if (g)
                all_sent(c);
            return sent - (ssize_t)waiting;
        } /* the next round retries until the kernel returns EAGAIN */
    }
}

uint32_t drains_changed;

void buffer_wake_writers(void) {
    __atomic_add_fetch(&drains_changed, 1, __ATOMIC_RELAXED);
    raw3(SYS_futex, &drains_changed, FUTEX_WAKE_PRIVATE, INT_MAX);
}

void buffer_drained(struct conn *c) {
    struct coalesce_buffer *g = c->buffer;
    if (!g || !c->draining)
        return; /* closed unseen meanwhile: c is another connection, or the child's copy */
    STORE(&c->draining, false);
    buffer_wake_writers();
    if (g->drained == DRAIN_ABANDONED) {
        buffer_resolve(c);
        return;
    }
    has_sent(g, g->drained < 0 ? 0 : (size_t)g->drained);
    if (g->drained < 0) {
        ssize_t error = -g->drained;
        if (error != EINTR && error != EAGAIN)
            buffer_free(c);
        policy_met(&c->policy, (int)error);
        return;
    }
    buffer_free_if_empty(c);
    if (buffer_length(c) && UNLIKELY(!buffer_is_at(c, c->fd)))
        buffer_free(c);
}

/* How many of its bytes the kernel has taken in the send under way. */
static size_t taken_of(const struct conn *c, const struct coalesce_buffer *g) {
    struct kernel_tcp_info now;
    size_t sending = g->tail - g->from;
    if ((!g->exact && c->origin == ORIGIN_FOREIGN) || kernel->tcp_info(c->fd, &now) != 0)
        return sending;
    uint64_t total = now.bytes_sent + now.bytes_queued;
    uint64_t of_these = total > g->before ? total - g->before : 0;
    return of_these < sending ? (size_t)of_these : sending;
}

void buffer_resolve(struct conn *c) {
    if (!c->buffer || !c->buffer->in_flight)
        return;
    has_sent(c->buffer, taken_of(c, c->buffer));
    buffer_free_if_empty(c);
}

bool buffer_is_about_to_send(const struct conn *c) {
    const struct coalesce_buffer *g = LOAD(&c->buffer);
    return g && g->in_flight && taken_of(c, g) == 0;
}

bool buffer_send_last(struct conn *c) {
    struct coalesce_buffer *g = LOAD(&c->buffer);
    if (!g)
        return true;
    if (c->draining) /* by a thread that may still be sending */
        return g->in_flight && taken_of(c, g) == g->tail - g->from;
    uint32_t at = g->in_flight ? g->from + (uint32_t)taken_of(c, g) : g->head, end = g->tail;
    at = at > g->sent_to ? at : g->sent_to;
    while (at < end) {
        struct iovec part = {g->bytes + at, end - at};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t sent = kernel->send(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += (uint32_t)sent;
        STORE(&g->sent_to, at);
    }
    return true;
}

/* The second time by the descriptor that a handler's close has left. */
bool buffer_flush(struct conn *c, int flags) {
    for (int fd = -1; buffer_length(c) && LOAD(&c->fd) != fd;) {
        fd = LOAD(&c->fd);
        buffer_send(c, fd, NULL, 0, flags);
    }
    return buffer_length(c) == 0;
}

void buffer_thread_ends(void) {
    struct coalesce_buffer *g = buffer_spare;
    buffer_spare = NULL;
    if (g)
        pool_give(&pool, g);
}
