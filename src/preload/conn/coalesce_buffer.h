/* SPDX-License-Identifier: MIT
 *
 * The user-space buffer of mode coalesce.
 *
 * Ownership: a connection has at most one buffer, from the first byte buffered
 * until all are sent; buffers come from a pool, with one spare a thread.
 * Everything here is called with the connection's lock held and never blocks:
 * sends are MSG_DONTWAIT, what the kernel does not take stays and the ticker
 * tries again.  After fork the parent sends; the child drops its copy.
 */
#ifndef UNSTALL_GATHER_H
#define UNSTALL_GATHER_H

#include <string.h>
#include <sys/socket.h>

#include "conn.h"

struct coalesce_buffer {
    uint32_t head, tail; /* bytes [head, tail) wait */
    uint32_t capacity;
    bool in_flight;  /* inside the sendmsg of buffer_send() */
    bool exact;      /* `before` is the kernel's own count, not ours */
    bool apart;      /* larger than those of the pool, in a mapping of its own */
    uint64_t before; /* bytes that the kernel had taken before it */
    uint64_t began;  /* clock_coarse() of the first byte: until then c->fd was this socket */
    char bytes[];
};

/* Bytes that wait in the buffer. */
static inline size_t buffer_length(const struct conn *c) {
    return c->buffer ? c->buffer->tail - c->buffer->head : 0;
}

/* The buffer that this thread's next connection takes.  The room of a connection without one is its, so it
 * is made before policy decides. */
extern _Thread_local struct coalesce_buffer *buffer_spare __attribute__((tls_model("initial-exec")));
bool buffer_make_spare(void);

/* Bytes that buffer_put() takes now.  None while a thread sends from the buffer, which it does without the
 * lock, and none behind bytes for which the kernel had no room. */
static inline uint32_t buffer_room(const struct conn *c) {
    const struct coalesce_buffer *g = c->buffer;
    if (g)
        return UNLIKELY(c->draining || c->flush_blocked) ? 0 : g->capacity - g->tail;
    return LIKELY(buffer_spare != NULL) || buffer_make_spare() ? buffer_spare->capacity : 0;
}

/* Copy bytes for which there is room. */
static inline void buffer_copy(struct coalesce_buffer *g, const void *bytes, size_t count) {
    memcpy(g->bytes + g->tail, bytes, count);
    g->tail += (uint32_t)count;
}

/* Is `fd` still the socket that c is?  Calls that pass us by may have closed the number and
 * given it to another one. */
bool buffer_is_at(const struct conn *c, int fd);

/* Copy what buffer_room() has room for. */
void buffer_put(struct conn *c, const struct iovec *iov, size_t count);

/* Copy all of it, or nothing: false when there is no room or no memory. */
bool buffer_add(struct conn *c, const struct iovec *iov, size_t count, size_t bytes);

/* The same whatever the room: only no memory makes it false. */
bool buffer_add_all(struct conn *c, const struct iovec *iov, size_t count, size_t bytes);

/* Send what waits, followed by `iov` (not copied; may be none), in one sendmsg
 * through `fd`.  Returns how many bytes of `iov` left (>= 0), or -errno if none
 * did; -EAGAIN also when the buffer could not be emptied.  An error of the
 * buffered bytes themselves is kept for the application (c->pending_error). */
ssize_t buffer_send(struct conn *c, int fd, const struct iovec *iov, size_t count, int flags);

/* Send what waits.  True when nothing is left. */
bool buffer_flush(struct conn *c, int flags);

/* The oldest bytes that wait, for a send that the caller makes himself, and
 * their removal once `sent` of them are gone. */
struct iovec buffer_front(const struct conn *c);
void buffer_sent(struct conn *c, size_t sent);

/* A send of buffered bytes was interrupted for good (a handler that never comes
 * back): ask the kernel how many of them it has taken. */
void buffer_resolve(struct conn *c);

/* Forget the bytes and give the buffer back. */
void buffer_drop(struct conn *c);
void buffer_free(struct conn *c);

/* A thread ends: its spare buffer goes back to the pool. */
void buffer_thread_ends(void);

/* Keep an error of a send of our own for the application's next call. */
void conn_keep_error(struct conn *c, int error);

#endif
