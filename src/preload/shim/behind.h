/* SPDX-License-Identifier: MIT
 *
 * Writes that cannot have the connection's lock (reentry.h).
 */
#ifndef UNSTALL_BEHIND_H
#define UNSTALL_BEHIND_H

#include "shim.h"
#include "window_state.h"

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
