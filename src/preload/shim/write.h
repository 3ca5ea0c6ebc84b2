/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of the write path only: shim_write.c, shim_fast.c, shim_forms.c,
 * shim_tally.c, shim_after.c, shim_buffered.c, shim_bulk.c.  The caller holds the
 * connection's lock unless a comment says otherwise.
 */
#ifndef UNSTALL_WRITE_H
#define UNSTALL_WRITE_H

#include "config.h"
#include "conn.h"
#include "shim.h"
#include "turn.h"

/* ---- the forms (shim_forms.c) ---------------------------------------- */

/* True: the first `most` bytes of a valid write are readable memory. */
bool shim_parts_readable(const struct parts *p, size_t most);
/* True: the vector or the message is certainly readable memory. */
bool shim_surely_there(const struct write_request *o);
/* True: the write must not be delayed, because of MSG_OOB, ancillary data, an address … */
bool shim_special(const struct write_request *o);
/* Makes the call with MSG_MORE. */
ssize_t shim_forward_more(const struct write_request *o, const struct parts *p);

/* ---- counting (shim_tally.c) ------------------------------------------ */

/* Counts a write of `bytes` in a mode that cures; `action` is the policy's decision. */
static inline void shim_count(struct conn *c, const struct policy_action *action, size_t bytes) {
    STORE(&c->counts.writes, LOAD(&c->counts.writes) + 1); /* a write that passes counts without the lock */
    conn_count_bytes(c, bytes);
    c->counts.messages += action->new_message;
    c->counts.bursts += action->burst;
}
/* The same in any mode, also in the statistics. */
void shim_account(struct conn *c, const struct policy_action *action, size_t bytes);

/* ---- mode off: counting without the lock (shim_tally.c) ------------------ */

/* True: a call on c is forwarded, and counted without the lock.  Mode off in force, and no statistics. */
static inline bool shim_only_counts(const struct conn *c, const struct config *now) {
    return LOAD(&c->policy.mode) == MODE_OFF && LOAD(&c->epoch) == now->epoch &&
           !LOAD(&c->evidence) && !LOAD(&c->held) && !LOAD(&c->buffer) &&
           !LOAD(&c->pending_error) && !LOAD(&c->aside);
}

/* A write of `bytes`, before it is made; and its correction afterwards, where the kernel took fewer. */
struct shim_counted {
    uint32_t open; /* bytes of the message before this write */
    bool burst;
};
struct shim_counted shim_counts(struct conn *c, const struct config *now, size_t bytes);
void shim_counted_too_much(struct conn *c, struct shim_counted counted, size_t bytes, ssize_t sent);

/* ---- acting ----------------------------------------------------------- */

/* Records that a write is held.  Returns true if the connection had held bytes before. */
static inline bool shim_hold(struct conn *c) {
    bool was_held = c->held;
    STORE(&c->held, true);
    c->counts.held_writes++;
    if (!was_held && UNLIKELY(!ticker_watch(c)))
        STORE(&c->held, false); /* shim_rehold_after_push() pushes it */
    return was_held;
}

/* Buffers a write. */
static inline void shim_buffer(struct conn *c, const struct iovec *iov, size_t count) {
    bool first = !c->buffer;
    buffer_put(c, iov, count);
    if (first && UNLIKELY(!ticker_watch(c)))
        hold_push(c, PUSH_PROCESS);
    c->counts.buffered_writes++;
}

/* ---- the write (shim_write.c) ---------------------------------------- */

/* The slow path of a write whose connection is known.  `joined`: the write has joined its
 * turn already.  Unlocks. */
ssize_t shim_write_found(struct conn *c, const struct write_request *o, bool joined);

/* ---- after the send (shim_after.c); no lock held, errno unchanged ------- */

/* Corrects the counts after the kernel took fewer bytes than were counted, or none.
 * `held`: bytes were held before this write, and still are. */
void shim_write_rollback(struct conn *c, int fd, const struct policy_action *action, size_t bytes,
                  ssize_t sent, bool held);
/* A write in a mode that does not cure sent no byte.  `error` is its errno, or 0. */
void shim_not_sent(struct call call, int error);
void shim_established(struct call call);
/* A push came between the decision to hold a write and its send: holds it again. */
void shim_rehold_after_push(struct conn *c, int fd);
/* The descriptor is no socket: the application closed it and the kernel reused its number,
 * unseen by the library.  Repeats the call unchanged. */
ssize_t shim_plain_after_all(const struct write_request *o);

/* ---- behind buffered bytes (shim_buffered.c) -------------------------- */

/* Fails a write as the kernel would: EPIPE raises SIGPIPE, too.  No lock held. */
ssize_t shim_fail(int error, int flags);
/* The application gets the pending error at this write.  Lock held; released.  Returns -1. */
ssize_t shim_tell_error(struct conn *c, int flags);
bool shim_non_blocking(const struct write_request *o);
/* Another thread is blocked in shim_drain(): waits for it as long as the kernel has room.  False: there is
 * no room, and the write may fail with EAGAIN.  After EAGAIN the application expects a writability event
 * (edge-triggered).  The query for writability makes the kernel record a waiter for room (poll(2)), so that
 * the event comes.  DRAINED: the other thread has returned.  DRAIN_STOPPED: it has not, although there is
 * room; then, and only then, the lock is released.  Lock held. */
enum drained { DRAINED, DRAIN_FULL, DRAIN_STOPPED };
enum drained shim_drained(struct conn *c, int fd);
/* For a blocking write behind buffered bytes when the send buffer is full: sends the
 * buffered bytes by a blocking call, so that EINTR, SA_RESTART and SO_SNDTIMEO keep
 * their effect.  DRAIN_FAILS: errno is set and the lock is released.  DRAIN_MISSED: the lock cannot be had
 * again.
 * Where the application's descriptor is closed meanwhile, o->fd becomes one of our own, for
 * shim_close_own(). */
enum drain { DRAIN_OVER, DRAIN_FAILS, DRAIN_MISSED };
enum drain shim_drain(struct conn *c, struct write_request *o);
/* Closes o->fd if it is not `fd`.  No lock held; errno unchanged. */
void shim_close_own(const struct write_request *o, int fd);

/* ---- shim tally ---------------------------------------------------------
 *
 * The work for statistics that must run without a connection's lock: opening the file and reading the live
 * configuration.
 */

void shim_tally_catch_up(void);

static inline void shim_tally_outside(void) {
    if (UNLIKELY(config()->stats != NULL))
        shim_tally_catch_up();
}

/* Runs before a write of a connection that has c->evidence.  It may have to release the
 * lock for a moment.  Returns the connection, locked, or NULL. */
struct conn *shim_tally(struct conn *c, int fd);

#endif
