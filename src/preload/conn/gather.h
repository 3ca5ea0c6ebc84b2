/* SPDX-License-Identifier: MIT
 *
 * The user-space buffer of mode coalesce.
 *
 * Ownership: a connection has at most one buffer, from the first byte gathered
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

struct gather {
    uint32_t head, tail; /* bytes [head, tail) wait */
    uint32_t capacity;
    bool in_flight;  /* inside the sendmsg of gather_send() */
    bool exact;      /* `before` is the kernel's own count, not ours */
    bool apart;      /* larger than those of the pool, in a mapping of its own */
    uint64_t before; /* bytes that the kernel had taken before it */
    uint64_t began;  /* clock_coarse() of the first byte: until then c->fd was this socket */
    char bytes[];
};

/* Bytes that wait in the buffer. */
static inline size_t gather_length(const struct conn *c) {
    return c->gather ? c->gather->tail - c->gather->head : 0;
}

/* Bytes that gather_add() can still take, where there is a buffer. */
static inline size_t gather_room(const struct conn *c) {
    return c->gather->capacity - c->gather->tail;
}

/* Copy bytes for which there is room. */
static inline void gather_copy(struct gather *g, const void *bytes, size_t count) {
    memcpy(g->bytes + g->tail, bytes, count);
    g->tail += (uint32_t)count;
}

/* Is `fd` still the socket that c is?  Calls that pass us by may have closed the number and
 * given it to another one. */
bool gather_is_at(const struct conn *c, int fd);

/* Copy all of it, or nothing: false when there is no room or no memory. */
bool gather_add(struct conn *c, const struct iovec *iov, size_t count, size_t bytes);

/* The same whatever the room: only no memory makes it false. */
bool gather_add_all(struct conn *c, const struct iovec *iov, size_t count, size_t bytes);

/* Send what waits, followed by `iov` (not copied; may be none), in one sendmsg
 * through `fd`.  Returns how many bytes of `iov` left (>= 0), or -errno if none
 * did; -EAGAIN also when the buffer could not be emptied.  An error of the
 * gathered bytes themselves is kept for the application (c->kept_error). */
ssize_t gather_send(struct conn *c, int fd, const struct iovec *iov, size_t count, int flags);

/* Send what waits.  True when nothing is left. */
bool gather_flush(struct conn *c, int flags);

/* The oldest bytes that wait, for a send that the caller makes himself, and
 * their removal once `sent` of them are gone. */
struct iovec gather_front(const struct conn *c);
void gather_sent(struct conn *c, size_t sent);

/* A send of gathered bytes was interrupted for good (a handler that never comes
 * back): ask the kernel how many of them it has taken. */
void gather_resolve(struct conn *c);

/* Forget the bytes and give the buffer back. */
void gather_drop(struct conn *c);
void gather_free(struct conn *c);

/* A thread ends: its spare buffer goes back to the pool. */
void gather_thread_ends(void);

/* Keep an error of a send of our own for the application's next call. */
void conn_keep_error(struct conn *c, int error);

#endif
