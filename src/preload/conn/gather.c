/* SPDX-License-Identifier: MIT */
#include "gather.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "clock.h"
#include "config.h"
#include "kernel.h"
#include "pool.h"

enum { BUFFERS_PER_MAP = 8, MOST_PARTS = 64 /* on the stack of the caller, which may be small */ };

static struct pool pool;
static _Thread_local struct gather *spare __attribute__((tls_model("initial-exec")));

static size_t size_of(uint32_t capacity) {
    return (sizeof(struct gather) + capacity + 63) & ~(size_t)63;
}

static inline void give_back(struct gather *g) {
    if (UNLIKELY(g->apart)) {
        raw_unmap(g, size_of(g->capacity));
        return;
    }
    if (UNLIKELY(self.spinning == &pool.lock))
        return; /* a handler, above this thread's own use of the list: one buffer is lost */
    if (!spare)
        spare = g;
    else
        pool_give(&pool, g);
}

static struct gather *take(void) {
    struct gather *g = spare;
    spare = NULL;
    if (!g && (g = pool_take(&pool, size_of(config()->small), BUFFERS_PER_MAP)))
        *g = (struct gather){.capacity = config()->small};
    return g;
}

bool gather_is_at(const struct conn *c, int fd) {
    uint64_t now;
    return !c->cookie || (kernel->cookie(fd, &now) == 0 && now == c->cookie);
}

/* Before gathered bytes leave, if the clock has moved on: they must not reach whoever has the
 * number now. */
static bool gather_lost(struct conn *c) {
    if (LIKELY(c->gather->began == clock_coarse()) || gather_is_at(c, c->fd))
        return false;
    gather_free(c);
    return true;
}

bool gather_add(struct conn *c, const struct iovec *iov, size_t count, size_t bytes) {
    struct gather *g = c->gather;
    if (!g) {
        g = take();
        if (!g)
            return false;
        g->head = g->tail = 0;
        g->in_flight = false;
        g->began = clock_coarse();
        STORE(&c->gather, g);
    }
    if (bytes > g->capacity - g->tail) {
        if (g->head == g->tail)
            gather_free(c);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        gather_copy(g, iov[i].iov_base, iov[i].iov_len);
    return true;
}

bool gather_add_all(struct conn *c, const struct iovec *iov, size_t count, size_t bytes) {
    size_t waiting = gather_length(c);
    /* no buffer of the pool: this may be a handler that interrupted who takes one */
    if (waiting && gather_add(c, iov, count, bytes))
        return true;
    uint32_t capacity = (uint32_t)(2 * (waiting + bytes));
    struct gather *wider = raw_map(size_of(capacity));
    if (!wider)
        return false;
    *wider = (struct gather){.capacity = capacity, .apart = true, .tail = (uint32_t)waiting};
    wider->began = clock_coarse();
    if (waiting) {
        wider->began = c->gather->began;
        memcpy(wider->bytes, gather_front(c).iov_base, waiting);
    }
    gather_free(c);
    STORE(&c->gather, wider);
    return gather_add(c, iov, count, bytes);
}

void gather_free(struct conn *c) {
    struct gather *g = c->gather;
    STORE(&c->gather, NULL);
    if (g)
        give_back(g);
}

void gather_drop(struct conn *c) {
    gather_free(c);
}

struct iovec gather_front(const struct conn *c) {
    return (struct iovec){c->gather->bytes + c->gather->head, gather_length(c)};
}

void gather_sent(struct conn *c, size_t sent) {
    c->gather->head += (uint32_t)sent;
    if (c->gather->head == c->gather->tail)
        gather_free(c);
}

void conn_keep_error(struct conn *c, int error) {
    STORE(&c->kept_error, error);
    policy_refuses(&c->policy);
}

/* Not the connection's fate, only "not now". */
static bool passing(ssize_t error) {
    return error == -EAGAIN || error == -EINTR || error == -ENOBUFS || error == -ENOMEM;
}

/* What the caller passed was wrong: no fault of the bytes that wait. */
static bool callers_fault(ssize_t error) {
    return error == -EFAULT || error == -EINVAL || error == -EMSGSIZE || error == -EOPNOTSUPP;
}

/* The gathered bytes are lost, and the application hears why. */
static bool gather_fails(struct conn *c, ssize_t error) {
    conn_keep_error(c, (int)-error);
    gather_free(c);
    return true;
}

ssize_t gather_send(struct conn *c, int fd, const struct iovec *iov, size_t count, int flags) {
    struct iovec parts[MOST_PARTS];
    if (gather_length(c))
        gather_lost(c);
    for (;;) {
        size_t waiting = gather_length(c), used = 0, extra = 0;
        if (waiting)
            parts[used++] = gather_front(c);
        for (size_t i = 0; i < count && used < MOST_PARTS; i++) {
            extra += iov[i].iov_len;
            parts[used++] = iov[i];
        }
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = used};
        if (waiting) {
            c->gather->before = c->counts.bytes - waiting - extra;
            c->gather->exact = false;
            c->gather->in_flight = true;
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
        }
        ssize_t sent = kernel->send(fd, &message, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
        if (waiting)
            c->gather->in_flight = false;
        if (sent < 0 && waiting && used > 1 && callers_fault(sent)) {
            gather_flush(c, 0);
            return sent;
        }
        if (sent < 0) {
            if (waiting && !passing(sent))
                gather_fails(c, sent);
            return passing(sent) ? -EAGAIN : sent;
        }
        if ((size_t)sent >= waiting) {
            if (waiting)
                gather_sent(c, waiting);
            return sent - (ssize_t)waiting;
        }
        gather_sent(c, (size_t)sent); /* and again, until the kernel itself says EAGAIN */
    }
}

void gather_resolve(struct conn *c) {
    struct kernel_segments now;
    if (!c->gather || !c->gather->in_flight)
        return;
    c->gather->in_flight = false;
    size_t waiting = gather_length(c), taken = waiting;
    if ((c->gather->exact || c->origin != ORIGIN_FOREIGN) && kernel->segments(c->fd, &now) == 0) {
        uint64_t total = now.bytes_sent + now.bytes_queued;
        uint64_t of_these = total > c->gather->before ? total - c->gather->before : 0;
        taken = of_these < waiting ? (size_t)of_these : waiting;
    }
    gather_sent(c, taken);
}

/* What nearly always happens: the kernel takes all of it at once. */
bool gather_flush(struct conn *c, int flags) {
    size_t waiting = gather_length(c);
    if (waiting == 0 || UNLIKELY(gather_lost(c)))
        return true;
    struct gather *g = c->gather;
    struct iovec part = {g->bytes + g->head, waiting};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    g->before = c->counts.bytes - waiting;
    g->exact = false;
    g->in_flight = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ssize_t sent = kernel->send(c->fd, &message, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    g->in_flight = false;
    if (LIKELY(sent == (ssize_t)waiting)) {
        gather_free(c);
        return true;
    }
    if (sent < 0)
        return !passing(sent) && gather_fails(c, sent);
    gather_sent(c, (size_t)sent);
    gather_send(c, c->fd, NULL, 0, flags); /* until the kernel itself says EAGAIN */
    return gather_length(c) == 0;
}

void gather_thread_ends(void) {
    struct gather *g = spare;
    spare = NULL;
    if (g)
        pool_give(&pool, g);
}
