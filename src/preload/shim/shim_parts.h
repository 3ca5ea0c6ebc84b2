/* SPDX-License-Identifier: MIT
 *
 * What the files of the write path (shim_write.c, shim_fast.c, shim_forms.c, shim_tally.c,
 * shim_after.c, shim_buffered.c, shim_bulk.c)
 * share with each other and with nobody else.  All with the connection's lock
 * held, unless said otherwise.
 */
#ifndef UNSTALL_SHIM_PARTS_H
#define UNSTALL_SHIM_PARTS_H

#include "decide.h"
#include "hold.h"
#include "shim.h"

/* ---- the forms (shim_forms.c) ---------------------------------------- */

/* Can the first `most` bytes of a valid write be read? */
bool shim_parts_readable(const struct parts *p, size_t most);
/* Is the vector or the message where it can be read for certain? */
bool shim_surely_there(const struct write_request *o);
/* More than bytes that may wait a little: MSG_OOB, ancillary data, an address … */
bool shim_special(const struct write_request *o);
/* The call with MSG_MORE. */
ssize_t shim_forward_more(const struct write_request *o, const struct parts *p);

/* ---- counting (shim_tally.c) ------------------------------------------ */

/* A write of `bytes` in a mode that cures, of which policy said `action`. */
static inline void shim_count(struct conn *c, const struct policy_action *action, size_t bytes) {
    c->counts.writes++;
    c->counts.bytes += bytes;
    c->counts.messages += action->new_message;
    c->counts.bursts += action->burst;
}
/* The same in any mode, also in the statistics. */
void shim_account(struct conn *c, const struct policy_action *action, size_t bytes);

/* ---- acting ----------------------------------------------------------- */

/* It is to be held: says whether something was already. */
static inline bool shim_hold(struct conn *c) {
    bool was_held = c->held;
    STORE(&c->held, true);
    c->counts.held_writes++;
    if (!was_held && UNLIKELY(!ticker_watch(c)))
        STORE(&c->held, false); /* shim_rehold_after_push() lets it go */
    return was_held;
}

/* It is to be buffered. */
static inline void shim_buffer(struct conn *c, const struct iovec *iov, size_t count) {
    bool first = !c->buffer;
    buffer_put(c, iov, count);
    if (first && UNLIKELY(!ticker_watch(c)))
        hold_push(c, PUSH_PROCESS);
    c->counts.buffered_writes++;
}

/* ---- the write (shim_write.c) ---------------------------------------- */

/* The long way of a write whose connection has been found.  `joined`: it has joined its
 * turn.  Unlocks. */
ssize_t shim_write_found(struct conn *c, const struct write_request *o, bool joined);

/* ---- after the send (shim_after.c); no lock, errno is kept ------------- */

/* The kernel took less than was accounted for, or nothing.  `held`: what was held
 * before this write still is. */
void shim_write_rollback(struct conn *c, int fd, const struct policy_action *action, size_t bytes,
                  ssize_t sent, bool held);
/* A write of a mode that does not cure took nothing; `error` is its errno, or 0. */
void shim_not_sent(struct conn *c, int fd, int error);
void shim_established(struct conn *c);
/* A write was to be held, and somebody has pushed since. */
void shim_rehold_after_push(struct conn *c, int fd);
/* The number leads to no socket: closed and born again where we could not see.  The
 * call again, as it was made. */
ssize_t shim_plain_after_all(const struct write_request *o);

/* ---- behind buffered bytes (shim_buffered.c) -------------------------- */

/* Answer a write with an error as the kernel would: SIGPIPE comes with EPIPE.
 * No lock. */
ssize_t shim_fail(int error, int flags);
bool shim_non_blocking(const struct write_request *o);
/* While another thread is blocked in that: EAGAIN is the kernel's to say, and must promise
 * an edge, as being asked for writability does (poll(2) notes who waits for room).  Lock
 * held.  False: there is no room.  True: that thread has come back. */
bool shim_drained(struct conn *c, int fd);
/* A blocking caller, a full send buffer, buffered bytes in front of his: send
 * them by a blocking call, which keeps EINTR, SA_RESTART and SO_SNDTIMEO what
 * they are.  False: errno is set and the lock is released. */
bool shim_drain(struct conn *c, const struct write_request *o);

#endif
