/* SPDX-License-Identifier: MIT
 *
 * The legal combinations of a connection's flags, while no thread has its lock.
 *
 * Builds with -DUNSTALL_CHECKS (the unit tests, scripts/fuzz, scripts/sanitize) end the process at
 * an unlock that leaves any other combination.  The installed library has no check.
 */
#ifndef UNSTALL_CONN_CHECK_H
#define UNSTALL_CONN_CHECK_H

#include "coalesce_buffer.h"

enum conn_fact {
    IS_HELD = 1,      /* the kernel holds bytes because of our MSG_MORE */
    IS_BUFFERED = 2,  /* the coalesce buffer has bytes */
    IS_DRAINING = 4,  /* a thread is blocked while it sends them */
    IS_BLOCKED = 8,   /* flush_blocked: a flush found no room in the kernel */
    IS_LINGERING = 16 /* the application has closed its last descriptor */
};

/* Draining and blocked need buffered bytes.  Held and buffered occur together if another thread buffers
 * during a sendfile(2): hold_push() then releases the held bytes first.  A close releases held bytes before
 * it lingers.  A lingering connection without bytes ends when the window's thread next visits it. */
static const uint8_t conn_legal[] = {
    0,
    IS_HELD,
    IS_BUFFERED,
    IS_BUFFERED | IS_DRAINING,
    IS_BUFFERED | IS_BLOCKED,
    IS_BUFFERED | IS_DRAINING | IS_BLOCKED,
    IS_HELD | IS_BUFFERED,
    IS_HELD | IS_BUFFERED | IS_DRAINING,
    IS_HELD | IS_BUFFERED | IS_BLOCKED,
    IS_HELD | IS_BUFFERED | IS_DRAINING | IS_BLOCKED,
    IS_LINGERING,
    IS_LINGERING | IS_BUFFERED,
    IS_LINGERING | IS_BUFFERED | IS_DRAINING,
    IS_LINGERING | IS_BUFFERED | IS_BLOCKED,
    IS_LINGERING | IS_BUFFERED | IS_DRAINING | IS_BLOCKED,
};

static inline unsigned conn_facts(const struct conn *c) {
    return (c->held ? IS_HELD : 0u) | (buffer_length(c) ? IS_BUFFERED : 0u) |
           (c->draining ? IS_DRAINING : 0u) |
           (c->flush_blocked ? IS_BLOCKED : 0u) | (c->lingering ? IS_LINGERING : 0u);
}

/* A struct without a descriptor is no connection and has no flag set.  A buffer is never empty. */
static inline bool conn_is_legal(const struct conn *c) {
    unsigned facts = conn_facts(c);
    if ((c->refs == 0 && facts) || (c->buffer && !buffer_length(c)))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(conn_legal); i++)
        if (facts == conn_legal[i])
            return true;
    return false;
}

#endif
