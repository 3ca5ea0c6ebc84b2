/* SPDX-License-Identifier: MIT
 *
 * Reads, and calls on other descriptors that end the turn of a thread.
 */

#include "evidence.h"
#include "real.h"
#include "reentry.h"
#include "shim.h"

/* True: a read or write of this descriptor, which is not the connection of the open turn, may block.  Only
 * regular files never block.  The library asks the kernel once for each descriptor, and only if the answer
 * matters: the turn holds bytes, or would hold some if it went on. */
static bool may_block(int fd) {
    uintptr_t word = fds_word(fd);
    if (word == FDS_FILE)
        return false;
    if (word > FDS_LAST_TAG || word == FDS_OTHER || config()->no_syscalls || !hold_could_go_on())
        return true;
    if (word == FDS_UNKNOWN) {
        struct conn *c = shim_lock_fd(fd);
        if (c)
            conn_unlock(c);
        if (fds_word(fd) != FDS_NO_SOCKET)
            return true;
    }
    bool file = kernel->is_file(fd) > 0;
    fds_set(fd, file ? FDS_FILE : FDS_OTHER);
    return !file;
}

COLD void time_read(const struct conn *c) {
    bool open = (self.turn == c || LOAD(&c->turn_end) != TURN_ENDS) && !self.read_began;
    if ((open || LOAD(&c->times_read) == TIMES_READ) && !clock_is_call()) /* promise 6 */
        self.read_began = clock_now();
}

struct call shim_read_begins(int fd, bool dont_wait) {
    if (UNLIKELY(!gate_enter()))
        return (struct call){0};
    uintptr_t word = fds_word(fd);
    struct conn *turn = LOAD(&self.turn);
    if (turn && !dont_wait && ((uintptr_t)turn == word ? !hold_end_turn_unlocked(turn) : may_block(fd))) {
        hold_end_turn_slow(PUSH_READ);
        word = fds_word(fd); /* it may have waited */
    }
    struct conn *c = fds_conn(word);
    if (!c)
        return (struct call){0};
    if (UNLIKELY(!self.ends_watched))
        thread_may_lock();
    if (UNLIKELY(LOAD(&c->times_read) != TIMES_NONE))
        time_read(c);
    return (struct call){c, LOAD(&c->generation)};
}

/* Another thread may have ended it at a wait.  Lock held. */
static inline void finish_ended_turn(struct conn *c) {
    if (LOAD(&c->turn_end) == TURN_ENDED_UNLOCKED || (c->turn_owner == &self && self.turn != c))
        hold_finish_turn(c);
}

/* A read that waits takes 8 us or more, on one processor with its peer; one that does not about 1 us, 4 to 8
 * after a wait for readiness on a busy machine, and the copy of many bytes its time: of 128 KB 11 to 17 us,
 * where a wait for them takes 60 or more. */
static bool was_at_once(size_t got) {
    enum { BYTES_A_NS = 8 };
    uint64_t began = self.read_began;
    self.read_began = 0;
    return began && (int64_t)(clock_now() - began) < (int64_t)(AT_ONCE_NS + got / BYTES_A_NS);
}

INLINE void input_came(struct call call, ssize_t got, size_t asked, bool at_once) {
    struct conn *c = call.conn;
    if (UNLIKELY(c->crossed_ms))
        decide_crossing_answered(c);
    policy_input(&c->policy, (size_t)got, asked, at_once);
    STORE(&c->times_read, (uint8_t)policy_times_read(&c->policy, c->counts.reads));
    if (UNLIKELY(c->counts.reads == 1))
        endpoint_update(c);
}

/* A read that was timed, or whose connection has evidence.  Lock held; released. */
static __attribute__((noinline)) ssize_t read_is_told(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    bool at_once = was_at_once((size_t)got);
    if (c->evidence) {
        if (c->epoch != config()->epoch)
            shim_refresh(c);
        uint64_t now = clock_now();
        evidence_input(c, now);
        tally_input(c, now);
    }
    input_came(call, got, asked, at_once);
    conn_unlock(c);
    shim_tally_catch_up();
    return got;
}

/* A read returned no bytes: the end of the stream, an error of its own, or the pending error. */
static __attribute__((noinline)) ssize_t read_got_nothing(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    if (got == 0 && asked == 0)
        return 0;
    if ((UNLIKELY(LOAD(&c->counts.reads) == 0) || LOAD(&c->turn_end) == TURN_ENDED_UNLOCKED) &&
        call_lock(call)) {
        c->tried = true;
        finish_ended_turn(c);
        conn_unlock(c);
    }
    if (UNLIKELY(LOAD(&c->pending_error))) {
        if (!conn_lock(c))
            return got; /* the next call tells it */
        bool input_first = asked == RECV_OF_NONE && got == 0 && !config()->no_syscalls &&
                           kernel->has_input(c->fd);
        bool ours_to_tell = c->pending_error != EPIPE && /* reads never give EPIPE */
                            !call_is_stale(call) && !input_first;
        int error = ours_to_tell ? shim_take_error(c) : 0;
        conn_unlock(c);
        if (error) {
            errno = error;
            return -1;
        }
    } else if (UNLIKELY(got == 0 && (LOAD(&c->evidence) || LOAD(&c->crossed_ms))) && call_lock(call)) {
        if (c->crossed_ms)
            decide_crossing_answered(c);
        evidence_ends(c, c->fd);
        conn_unlock(c);
    } else if (got < 0 && errno != EAGAIN && errno != EINTR && call_lock(call)) {
        policy_met(&c->policy, errno); /* the next write must not appear to succeed */
        conn_unlock(c);
    }
    return got;
}

/* Lock held; released. */
static inline ssize_t input_ends(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    c->counts.reads++;
    finish_ended_turn(c);
    if (UNLIKELY(c->evidence || self.read_began))
        return read_is_told(call, got, asked);
    input_came(call, got, asked, false);
    conn_unlock(c);
    return got;
}

/* The lock cannot be had. */
COLD ssize_t input_aside(struct call call, ssize_t got) {
    if (!call_is_stale(call))
        reentry_set_aside(call.conn, ASIDE_INPUT, 0);
    return got;
}

ssize_t shim_read_ends(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    if (!c)
        return got;
    if (UNLIKELY(got <= 0))
        return read_got_nothing(call, got, asked);
    if (UNLIKELY(shim_only_counts_reads(c)))
        return shim_count_input(call, got);
    if (UNLIKELY(!conn_lock(c)))
        return input_aside(call, got);
    if (UNLIKELY(call_is_stale(call))) {
        conn_unlock(c);
        return got;
    }
    return input_ends(call, got, asked);
}

ssize_t shim_looked(struct call call, ssize_t got, size_t asked, int flags) {
    struct conn *c = call.conn;
    if (!c || (flags & MSG_ERRQUEUE))
        return got;
    if (got <= 0)
        return read_got_nothing(call, got, asked);
    self.read_began = 0;
    if ((c->evidence || LOAD(&c->counts.reads) == 0 || LOAD(&c->turn_end) == TURN_ENDED_UNLOCKED) &&
        call_lock(call)) {
        c->tried = true;
        finish_ended_turn(c);
        if (c->evidence)
            evidence_input(c, clock_now());
        conn_unlock(c);
    }
    return got;
}

void shim_other_write(int fd) {
    if (LIKELY(self.turn == NULL) || !gate_enter())
        return;
    if (may_block(fd))
        hold_end_turn(PUSH_WRITE);
}
