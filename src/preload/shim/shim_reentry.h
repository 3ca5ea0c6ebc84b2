/* SPDX-License-Identifier: MIT
 *
 * The calls themselves of a signal handler that interrupted us (reentry.h).
 */
#ifndef UNSTALL_SHIM_NESTED_H
#define UNSTALL_SHIM_NESTED_H

#include "shim.h"

ssize_t reentry_write(const struct write_request *o);

/* Must what moves bytes into fd without a buffer of the caller's (sendfile, splice), or in several
 * messages, stand behind what is beneath it?  Then these are made instead. */
bool reentry_stands_behind_slow(int fd);
ssize_t reentry_move(int fd, int from, off_t *offset, size_t bytes);
int reentry_messages(int fd, struct mmsghdr *messages, unsigned count, int flags);

static inline bool reentry_stands_behind(int fd) {
    return UNLIKELY(self.depth || self.draining || self.vforked) && reentry_stands_behind_slow(fd);
}

#endif
