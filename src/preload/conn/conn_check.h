/* SPDX-License-Identifier: MIT
 *
 * What may be true of a connection at the same time, while no thread has its lock.
 *
 * Builds with -DUNSTALL_CHECKS (the unit tests, scripts/fuzz, scripts/sanitize) end the process at
 * an unlock that leaves another combination.  The installed library has no check.
 */
#ifndef UNSTALL_CONN_CHECK_H
#define UNSTALL_CONN_CHECK_H

#include "coalesce_buffer.h"

enum conn_fact {
    IS_HELD = 1,      /* the kernel holds bytes because of our MSG_MORE */
    IS_BUFFERED = 2,  /* the coalesce buffer has bytes */
    IS_DRAINING = 4,  /* a thread is blocked while it sends them */
    IS_BLOCKED = 8,   /* flush_blocked: they were let go, and the kernel had no room */
    IS_LINGERING = 16 /* the application has closed its last descriptor */
};

/* Draining and blocked are about buffered bytes.  Held and buffered come together where another thread
 * buffers during a sendfile(2): hold_push() lets go of the held bytes first.  A close lets go of what is
 * held before it lingers.  A lingering connection without bytes ends at the ticker's next look. */
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

/* A place without a descriptor is no connection: nothing is true of it.  A buffer has bytes. */
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
