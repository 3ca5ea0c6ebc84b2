/* SPDX-License-Identifier: MIT
 *
 * Shared by write.c and behind.c.  The caller holds the connection's lock unless a comment says otherwise.
 */
#ifndef UNSTALL_WRITE_H
#define UNSTALL_WRITE_H

#include "config.h"
#include "conn.h"
#include "shim.h"
#include "turn.h"
#include "window_state.h"

/* ---- the forms of a write --------------------------------------------- */

/* True: the first `most` bytes of a valid write are readable memory. */
bool shim_parts_readable(const struct parts *p, size_t most);
/* True: the vector or the message is certainly readable memory. */
bool shim_surely_there(const struct write_request *o);
/* True: the write must not be delayed, because of MSG_OOB, ancillary data, an address … */
bool shim_special(const struct write_request *o);

/* ---- counting ----------------------------------------------------------- */

/* Counts a write of `bytes`, in any mode, also in the statistics. */
void shim_account(struct conn *c, const struct policy_action *action, size_t bytes);

/* True: a call on c is forwarded, and counted without the lock.  Mode off in force, and no statistics. */
static inline bool shim_only_counts(const struct conn *c, const struct config *now) {
    return LOAD(&c->policy.mode) == MODE_OFF && LOAD(&c->epoch) == now->epoch &&
           !LOAD(&c->evidence) && !LOAD(&c->held) && !LOAD(&c->buffer) &&
           !LOAD(&c->pending_error) && !LOAD(&c->aside);
}

/* ---- behind buffered bytes (behind.c) ---------------------------------- */

/* The application gets the pending error at this write.  Lock held; released.  Returns -1. */
ssize_t shim_tell_error(struct conn *c, int flags);
bool shim_non_blocking(const struct write_request *o);

/* ---- statistics ---------------------------------------------------------
 *
 * The work that must run without a connection's lock: opening the file and reading the live
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

/* ---- the lock cannot be had (behind.c, reentry.h) ------------------------- */

ssize_t reentry_write(const struct write_request *o);

/* True: bytes of c may be in a buffer, or set aside: a write that cannot have the lock must stand behind. */
static inline bool reentry_may_stand_behind(const struct conn *c) {
    enum window_state state = window_state();
    bool buffers = LOAD(&c->policy.mode) == MODE_COALESCE && !LOAD(&c->policy.never_buffer) &&
                   state != WINDOW_NEVER && state != WINDOW_REFUSED;
    return buffers || LOAD(&c->buffer) || conn_has_aside(c);
}

/* True: the interrupted code has bytes for fd that must leave first.  A call that moves bytes into fd
 * without a buffer of the caller (sendfile, splice), or sends several messages (sendmmsg), must queue
 * behind them: the caller makes reentry_move() or reentry_messages() instead. */
bool reentry_stands_behind_slow(int fd);
ssize_t reentry_move(int fd, int from, off64_t *offset, size_t bytes);
int reentry_messages(int fd, struct mmsghdr *messages, unsigned count, int flags);

static inline bool reentry_stands_behind(int fd) {
    return UNLIKELY(self.busy) && reentry_stands_behind_slow(fd);
}

#endif
