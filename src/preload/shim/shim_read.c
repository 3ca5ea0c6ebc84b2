/* SPDX-License-Identifier: MIT
 *
 * Reads, and calls on other descriptors that end the turn of a thread.
 */
#include <errno.h>

#include "clock.h"
#include "config.h"
#include "evidence.h"
#include "fds.h"
#include "hold.h"
#include "kernel.h"
#include "endpoint_cache.h"
#include "policy_inline.h"
#include "real.h"
#include "shim.h"
#include "shim_tally.h"
#include "tally.h"

/* True: a read or write of this descriptor, which is not the connection of the open
 * turn, may block.  Only regular files never block.  The library asks the kernel once
 * for each descriptor, and only if the answer matters: the turn holds bytes, or would
 * hold some if it went on. */
static bool may_block(int fd) {
    uintptr_t word = fds_word(fd);
    if (word == FDS_FILE)
        return false;
    if (word > FDS_LAST_TAG || word == FDS_OTHER || config()->no_syscalls || !hold_could_go_on())
        return true;
    if (word == FDS_UNKNOWN) {
        struct conn *c = shim_find(fd);
        if (c)
            conn_unlock(c);
        if (fds_word(fd) != FDS_NO_SOCKET)
            return true;
    }
    bool file = kernel->is_file(fd) > 0;
    fds_set(fd, file ? FDS_FILE : FDS_OTHER);
    return !file;
}

struct call shim_read_begins(int fd, bool dont_wait) {
    if (UNLIKELY(!ours()))
        return (struct call){0};
    uintptr_t word = fds_word(fd);
    struct conn *turn = LOAD(&self.turn);
    if (turn && !dont_wait && ((uintptr_t)turn == word ? !hold_leaves_turn(turn, false) : may_block(fd)))
        hold_end_turn_slow(PUSH_READ);
    struct conn *c = fds_conn(word);
    if (!c)
        return (struct call){0};
    if (UNLIKELY(!self.ends_watched))
        hold_watch_reader();
    return (struct call){c, LOAD(&c->generation)};
}

/* Another thread may have left it at a wait.  Lock held. */
static inline void end_left_turn(struct conn *c) {
    if ((c->turn_owner == &self && self.turn != c) || LOAD(&c->turn_end) == TURN_LEFT)
        hold_finish_turn(c);
}

static inline void input_came(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    bool first = !c->policy.input_ever;
    if (UNLIKELY(first) && call_is_stale(call))
        return;
    policy_input(&c->policy, (size_t)got, asked);
    if (UNLIKELY(first))
        endpoint_update(c);
}

/* Lock held; released. */
static __attribute__((noinline)) ssize_t read_is_told(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    if (c->epoch != config()->epoch)
        shim_refresh(c);
    uint64_t now = clock_now();
    evidence_input(c, now);
    tally_input(c, now);
    input_came(call, got, asked);
    conn_unlock(c);
    if (UNLIKELY(tally_pending()))
        shim_tally_catch_up();
    return got;
}

/* A read returned no bytes: the end of the stream, an error of its own, or the pending error. */
static __attribute__((noinline)) ssize_t read_got_nothing(struct call call, ssize_t got) {
    struct conn *c = call.conn;
    if (UNLIKELY(LOAD(&c->counts.reads) == 0) && conn_trylock(c)) {
        c->tried = true;
        conn_unlock(c);
    }
    if (LOAD(&c->turn_end) == TURN_LEFT) {
        conn_lock(c);
        end_left_turn(c);
        conn_unlock(c);
    }
    if (UNLIKELY(LOAD(&c->pending_error))) {
        conn_lock(c);
        bool ours_to_tell = c->pending_error != EPIPE && !call_is_stale(call); /* reads never give EPIPE */
        int error = ours_to_tell ? shim_take_error(c) : 0;
        conn_unlock(c);
        if (error) {
            errno = error;
            return -1;
        }
    } else if (UNLIKELY(got == 0 && LOAD(&c->evidence) != NULL)) {
        int saved = errno;
        conn_lock(c);
        evidence_ends(c, c->fd);
        conn_unlock(c);
        errno = saved;
    } else if (got < 0 && errno != EAGAIN && errno != EINTR) {
        int error = errno;
        conn_lock(c);
        if (!call_is_stale(call))
            policy_met(&c->policy, error); /* the next write must not appear to succeed */
        conn_unlock(c);
        errno = error;
    }
    return got;
}

/* After input: whether the next write of this connection needs no decision.  Lock held. */
static inline enum quiet quiet_now(const struct conn *c) {
    bool steady = policy_is_steady(&c->policy);
    if (!steady && !policy_is_quiet(&c->policy))
        return QUIET_NOT;
    if (!c->filters_applied || c->held || c->buffer || c->pending_error || c->turn_owner)
        return QUIET_NOT;
    return steady ? STEADY : c->wait_began ? QUIET_NOT : QUIET;
}

/* Lock held; released. */
static inline ssize_t input_ends(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    c->counts.reads++;
    end_left_turn(c);
    if (UNLIKELY(c->evidence != NULL))
        return read_is_told(call, got, asked);
    input_came(call, got, asked);
    enum quiet quiet = quiet_now(c);
    if (quiet != QUIET_NOT)
        STORE(&c->quiet, quiet);
    conn_unlock(c);
    return got;
}

/* Lock held; released. */
COLD ssize_t is_not_quiet(struct call call, ssize_t got, size_t asked) {
    STORE(&call.conn->quiet, QUIET_NOT);
    return input_ends(call, got, asked);
}

/* The answer of a quiet or steady connection whose turn this thread has left.  If the connection still wants
 * one, no other code has had its lock since this thread's write. */
INLINE ssize_t quiet_answer(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    conn_lock_quiet(c);
    uint8_t wrote = c->quiet;
    if (UNLIKELY(!(wrote & WANTS_ANSWER) || c->turn_owner != &self ||
                 policy_leaves_input((size_t)got, asked)))
        return is_not_quiet(call, got, asked);
    STORE(&c->turn_owner, NULL);
    STORE(&c->turn_end, TURN_ENDS);
    policy_quiet_answer(&c->policy);
    STORE(&c->quiet, quiet_answered(wrote));
    c->counts.reads++;
    conn_unlock(c);
    return got;
}

ssize_t shim_read_ends(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    if (!c)
        return got;
    if (UNLIKELY(got <= 0))
        return read_got_nothing(call, got);
    /* Left at a wait.  A thread that has ended may have had the same address: `ends_watched` shows that this
     * one can lock. */
    if ((LOAD(&c->quiet) & WANTS_ANSWER) && LOAD(&c->turn_end) == TURN_LEFT &&
        LOAD(&c->turn_owner) == &self && LIKELY(self.ends_watched))
        return quiet_answer(call, got, asked);
    conn_lock(c);
    return input_ends(call, got, asked);
}

void shim_other_write(int fd) {
    if (LIKELY(self.turn == NULL) || !ours())
        return;
    if (hold_buffers() || may_block(fd))
        hold_end_turn(PUSH_WRITE);
}

/* ---- a quiet or steady connection ---------------------------------------- */

ssize_t shim_read(int fd, void *buffer, size_t bytes) {
    struct call call = shim_read_begins(fd, false);
    ssize_t got = REAL(read)(fd, buffer, bytes);
    return shim_read_ends(call, got, bytes);
}

ssize_t shim_recv(int fd, void *buffer, size_t bytes, int flags) {
    struct call call = shim_read_begins(fd, (flags & MSG_DONTWAIT) != 0);
    ssize_t got = REAL(recv)(fd, buffer, bytes, flags);
    return shim_read_ends(call, got, bytes);
}

/* True: this thread's quiet or steady turn has ended without the lock; the read may return the answer. */
INLINE bool begins_quiet(struct conn *c, int fd) {
    return LIKELY(fds_word(fd) == (uintptr_t)c) && surely_ours() && hold_leaves_turn(c, true);
}

INLINE ssize_t ends_quiet(struct call call, ssize_t got, size_t asked) {
    return LIKELY(got > 0) ? quiet_answer(call, got, asked) : shim_read_ends(call, got, asked);
}

ssize_t shim_read_quiet(int fd, void *buffer, size_t bytes, struct conn *turn) {
    if (UNLIKELY(!begins_quiet(turn, fd)))
        return shim_read(fd, buffer, bytes);
    const struct call call = {turn, LOAD(&turn->generation)};
    return ends_quiet(call, REAL_FOUND(read)(fd, buffer, bytes), bytes);
}

ssize_t shim_recv_quiet(int fd, void *buffer, size_t bytes, int flags, struct conn *turn) {
    if (UNLIKELY((flags & MSG_DONTWAIT) || !begins_quiet(turn, fd)))
        return shim_recv(fd, buffer, bytes, flags);
    const struct call call = {turn, LOAD(&turn->generation)};
    return ends_quiet(call, REAL_FOUND(recv)(fd, buffer, bytes, flags), bytes);
}
