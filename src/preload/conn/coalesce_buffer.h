/* SPDX-License-Identifier: MIT
 *
 * The user-space buffer of mode coalesce.
 *
 * Ownership: a connection has at most one buffer, from the first byte buffered until all are sent; buffers
 * come from a pool, with one spare a thread.  All functions that get a connection need its lock, but for
 * buffer_send_last(), and never block: sends are MSG_DONTWAIT, and the window's thread sends the remaining
 * bytes later.  After fork the parent sends; the child drops its copy.
 */
#ifndef UNSTALL_COALESCE_BUFFER_H
#define UNSTALL_COALESCE_BUFFER_H

#include <limits.h>

#include "conn.h"

struct coalesce_buffer {
    uint32_t head, tail; /* bytes [head, tail) wait */
    uint32_t capacity;
    uint32_t from;    /* `head` at the last send */
    uint32_t sent_to; /* the bytes before it buffer_send_last() has sent */
    bool in_flight;  /* inside that send: buffer_resolve() asks the kernel */
    bool exact;      /* `before` is the kernel's count, not ours */
    bool apart;      /* larger than the pool's buffers, in a mapping of its own */
    uint64_t before; /* bytes that the kernel had taken before that sendmsg */
    uint64_t began;  /* clock_coarse() of the first byte: c->fd was this socket then */
    ssize_t drained; /* what the blocking send of a thread that drains has returned, or -errno */
    char bytes[];
};

/* Bytes that wait in the buffer. */
static inline size_t buffer_length(const struct conn *c) {
    return c->buffer ? c->buffer->tail - c->buffer->head : 0;
}

/* The buffer that the next connection of this thread takes.  Policy needs its room for a connection without
 * a buffer, so it is made before policy decides. */
extern _Thread_local struct coalesce_buffer *buffer_spare __attribute__((tls_model("initial-exec")));
bool buffer_make_spare(void);

/* Bytes that buffer_put() takes now.  0 while a thread drains the buffer, because it sends without the lock;
 * 0 also after a flush that found no room in the kernel. */
static inline uint32_t buffer_room(const struct conn *c) {
    const struct coalesce_buffer *g = c->buffer;
    if (g)
        return UNLIKELY(c->draining || c->flush_blocked) ? 0 : g->capacity - g->tail;
    return LIKELY(buffer_spare != NULL) || buffer_make_spare() ? buffer_spare->capacity : 0;
}

/* Append bytes.  The buffer must have room. */
static inline void buffer_copy(struct coalesce_buffer *g, const void *bytes, size_t count) {
    memcpy(g->bytes + g->tail, bytes, count);
    g->tail += (uint32_t)count;
}

/* True if `fd` is still the socket of c: calls that pass us by may have closed it and opened another. */
bool buffer_is_at(const struct conn *c, int fd);

/* Append bytes, at most buffer_room(). */
void buffer_put(struct conn *c, const struct iovec *iov, size_t count);

/* The same of any number of bytes: the buffer grows as needed.  False: no memory, or 2 GiB wait. */
bool buffer_add(struct conn *c, const void *bytes, size_t count);

/* Send the buffered bytes followed by `iov` (not copied; may be empty) in one sendmsg through `fd`.  Returns
 * the number of bytes of `iov` that were sent, or -errno if none were; -EAGAIN also if buffered bytes remain.
 * An error of the buffered bytes is kept for the application (c->pending_error). */
ssize_t buffer_send(struct conn *c, int fd, const struct iovec *iov, size_t count, int flags);

/* Send the buffered bytes.  True when nothing is left. */
bool buffer_flush(struct conn *c, int flags);

/* A send of the buffered bytes begins: of those that buffer_send_last() has not sent.  `before` are the
 * bytes that the kernel had taken, by its own count (`exact`) or by ours. */
struct iovec buffer_begins_to_send(struct coalesce_buffer *g, uint64_t before, bool exact);

/* A handler that does not return has ended a send of buffered bytes: ask the kernel how many
 * bytes it has taken. */
void buffer_resolve(struct conn *c);
/* ... or has abandoned it between the send of the last byte and the return of the buffer. */
void buffer_free_if_empty(struct conn *c);

/* A blocking send of buffered bytes is over, with the result `drained`, or a jump has abandoned it
 * (DRAIN_ABANDONED), and the kernel must be asked.  Lock held. */
enum { DRAIN_ABANDONED = INT_MIN };
void buffer_drained(struct conn *c);

/* The futex of writers behind a drain: grows when one ends, or when the connection is closed. */
extern INTERNAL uint32_t drains_changed;
void buffer_wake_writers(void);

/* Sends the buffered bytes although the holder of the lock, or the thread that drains the buffer, is
 * stopped, or has left: if the holder goes on, it does not send them again.  True: all are sent. */
bool buffer_send_last(struct conn *c);
/* True: the holder may be just before its system call, and the kernel has none of the bytes yet. */
bool buffer_is_about_to_send(const struct conn *c);

/* Shut the socket down for writing, behind the buffered bytes. */
void buffer_shut(struct conn *c);

/* Drop the bytes and return the buffer to the pool. */
void buffer_free(struct conn *c);

/* A thread ends: its spare buffer goes back to the pool. */
void buffer_thread_ends(void);

/* Keep an error of a send of our own for the application's next call. */
void buffer_keep_error(struct conn *c, int error);
/* A send behind buffered bytes failed with `error` after bytes of the same write had left, so the application
 * hears of success.  The kernel would tell the error at the next call.  Lock held. */
void buffer_met_behind(struct conn *c, int error);

#endif
