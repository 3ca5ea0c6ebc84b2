/* SPDX-License-Identifier: MIT
 *
 * Calls of a signal handler that has interrupted the library (reentry.h).
 */
#ifndef UNSTALL_SHIM_REENTRY_H
#define UNSTALL_SHIM_REENTRY_H

#include "shim.h"

ssize_t reentry_write(const struct write_request *o);

/* True: the interrupted code has bytes for fd that must leave first.  A call that moves bytes into fd
 * without a buffer of the caller (sendfile, splice), or sends several messages (sendmmsg), must queue
 * behind them: the caller makes reentry_move() or reentry_messages() instead. */
bool reentry_stands_behind_slow(int fd);
ssize_t reentry_move(int fd, int from, off64_t *offset, size_t bytes);
int reentry_messages(int fd, struct mmsghdr *messages, unsigned count, int flags);

static inline bool reentry_stands_behind(int fd) {
    return UNLIKELY(self.depth || self.draining || self.vforked) && reentry_stands_behind_slow(fd);
}

#endif
