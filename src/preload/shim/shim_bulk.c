/* SPDX-License-Identifier: MIT
 *
 * Calls that move bytes into a connection but can be neither held nor buffered.
 */
#include <errno.h>

#include "evidence.h"
#include "coalesce_buffer.h"
#include "hold.h"
#include "shim_reentry.h"
#include "shim_parts.h"
#include "shim_tally.h"
#include "ticker.h"

/* The connection's lock cannot be had. */
static enum bulk begins_aside(int fd, struct call *call) {
    *call = call_on(fd);
    return call->conn && reentry_may_stand_behind(call->conn) ? BULK_ASIDE : BULK_GOES;
}

enum bulk shim_bulk_begins(int fd, int flags, bool raw, struct call *call) {
    *call = (struct call){0};
    if (!ours())
        return BULK_GOES;
    struct conn *turn = LOAD(&self.turn);
    if (turn && fds_conn(fds_word(fd)) != turn)
        shim_other_write(fd);
    struct conn *c = shim_find(fd);
    if (c && UNLIKELY(c->evidence != NULL))
        c = shim_tally(c, fd);
    if (!c)
        return begins_aside(fd, call);
    struct write_request o = {.fd = fd, .flags = flags, .raw = raw};
    if (buffer_length(c) && c->policy.no_more)
        hold_push(c, PUSH_WRITE); /* MPTCP: MSG_MORE joins nothing */
    hold_join_turn(c);
    if (buffer_length(c)) {
        /* the buffered header leaves in the same segments as the bytes of this call */
        bool no_wait = UNLIKELY(c->draining) && shim_non_blocking(&o);
        enum drained drained = no_wait ? shim_drained(c, fd) : c->draining ? DRAIN_FULL : DRAINED;
        if (drained == DRAIN_STOPPED)
            return begins_aside(fd, call);
        if (drained == DRAIN_FULL || !buffer_flush(c, MSG_MORE)) {
            if (no_wait || shim_non_blocking(&o)) {
                conn_unlock(c);
                errno = EAGAIN;
                return BULK_FAILS;
            }
            enum drain drain = shim_drain(c, &o);
            if (drain != DRAIN_OVER)
                return drain == DRAIN_FAILS ? BULK_FAILS : begins_aside(fd, call);
            if (UNLIKELY(o.fd != fd)) { /* closed meanwhile: the call would go to another file */
                conn_unlock(c);
                shim_close_own(&o, fd);
                errno = EBADF;
                return BULK_FAILS;
            }
        }
        if (LIKELY(!c->pending_error)) {
            STORE(&c->held, true);
            ticker_watch(c);
        }
    }
    if (UNLIKELY(c->pending_error)) {
        shim_tell_error(c, flags);
        return BULK_FAILS;
    }
    evidence_writes(c);
    *call = call_of(c);
    conn_unlock(c);
    return BULK_GOES;
}

/* Policy decides by the bytes moved, not by the bytes requested: callers of sendfile(2) and
 * splice(2) often pass a large length.  So the late push comes after the call, and pushes the
 * bytes that Nagle has kept back. */
void shim_bulk_ended(struct call call, int fd, unsigned pieces, ssize_t moved, bool more,
                     uintptr_t caller) {
    struct conn *c = call.conn;
    if (!c || moved == 0)
        return;
    int saved = errno;
    if (UNLIKELY(!conn_lock(c))) {
        if (moved > 0 && !call_seems_stale(call))
            conn_count_bytes(c, (uint64_t)moved);
        errno = saved;
        return;
    }
    bool stale = call_is_stale(call);
    if (moved < 0 || stale) {
        if (!stale)
            policy_met(&c->policy, saved);
        conn_unlock(c);
        errno = saved;
        return;
    }
    policy_established(&c->policy);
    STORE(&c->held, c->held && more); /* bytes sent with MSG_MORE wait, and ours before them */
    struct policy_limits limits = decide_limits();
    struct policy_write w = {(size_t)moved / pieces, more, true};
    struct evidence_write made = {fd, (uint64_t)moved / pieces, caller};
    for (unsigned i = 0; i < pieces; i++) {
        struct policy_action action = decide_write(c, &limits, &w);
        shim_account(c, &action, i ? 0 : (size_t)moved);
        evidence_wrote(c, &action, &made);
        decide_apply(c, &action, fd);
    }
    conn_unlock(c);
    errno = saved;
}
