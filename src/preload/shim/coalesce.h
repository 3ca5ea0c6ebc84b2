/* SPDX-License-Identifier: MIT
 *
 * Mode coalesce in the road of a write (write.c): its buffer, what enters it, and what must stand behind it.
 * Whoever reads another mode needs none of it: without a buffer these functions are not called, but for the
 * question whether a write may be buffered.
 *
 * The caller holds the connection's lock.
 */
#ifndef UNSTALL_COALESCE_H
#define UNSTALL_COALESCE_H

#include "readable.h"
#include "shim.h"

/* ---- a write may enter the buffer ------------------------------------------ */

/* A buffered write has reported success, so the kernel must take its bytes later.  At most a quarter of the
 * send buffer is buffered for a message, and none while the send buffer may be full: asks the kernel. */
void coalesce_learn_room(struct conn *c, int fd);

/* Before the first write enters a buffer: checks that fd still belongs to this connection.  False: it belongs
 * to another one.  The action is then undone, the descriptor forgotten and the lock released. */
bool coalesce_begins(struct conn *c, int fd, const struct policy_action *action, size_t bytes);

/* A write enters the buffer, as policy has decided. */
INLINE void coalesce_put(struct conn *c, const struct iovec *iov, size_t parts) {
    bool first = !c->buffer;
    buffer_put(c, iov, parts);
    if (first && UNLIKELY(!window_watch(c)))
        hold_push(c, PUSH_PROCESS);
    c->counts.buffered_writes++;
}

/* ---- one buffer, by libc's own name (shim_write_fast()) --------------------- */

/* The check of data and heap comes first: most written bytes lie there. */
INLINE bool coalesce_may_read(const void *buffer, size_t bytes) {
    return lies_in_data(buffer, bytes) || readable(buffer, bytes);
}

/* One more small write enters behind the buffered ones of the same turn.  False: it has not. */
INLINE bool coalesce_goes_on(struct conn *c, const void *buffer, size_t bytes,
                             struct policy_limits *limits) {
    if (c->turn_owner != &self || self.turn != c || !policy_buffers(&c->policy) ||
        !coalesce_may_read(buffer, bytes))
        return false;
    decide_add_room(limits, c);
    uint16_t small_before = c->policy.small_writes;
    if (!policy_buffers_on(&c->policy, limits, bytes))
        return false;
    buffer_copy(c->buffer, buffer, bytes);
    c->counts.writes++;
    conn_count_bytes(c, bytes);
    c->counts.buffered_writes++;
    c->counts.bursts += small_before == 1 && c->policy.small_writes == 2;
    return true;
}

/* True: policy may decide about a first write without preparation.  For one that may be buffered the room in
 * the kernel is known, it is readable memory, and its descriptor still belongs to this connection. */
INLINE bool coalesce_is_prepared(const struct conn *c, int fd, const void *buffer, size_t bytes,
                                 struct policy_limits *limits) {
    if (!policy_may_hold_write(&c->policy, limits, &(struct policy_write){.bytes = bytes}))
        return true;
    decide_add_room(limits, c);
    return c->cookie && c->fd == fd && policy_knows_sndbuf(&c->policy) &&
           coalesce_may_read(buffer, bytes) && buffer_is_at(c, fd);
}

/* ---- a call stands behind buffered bytes --------------------------------------- */

/* Sends the buffered bytes and then this write, in one sendmsg.  Releases the lock. */
ssize_t coalesce_send_with(struct conn *c, const struct write_request *o, const struct parts *p);

/* Before a sendfile or its like: sends the buffered header, so that it leaves in the same segments as the
 * bytes of this call.  Anything but BULK_GOES releases the lock. */
enum bulk coalesce_send_header(struct conn *c, const struct write_request *o);

#endif
