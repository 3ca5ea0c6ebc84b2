/* SPDX-License-Identifier: MIT
 *
 * Calls of a signal handler that interrupted its own thread inside one of our
 * locks.  The lock cannot be waited for, so the call passes through; in
 * coalesce, where bytes of the same connection may wait in the buffer, it must
 * not overtake them:
 *
 *   - the lock of the connection can be had: it is taken;
 *   - it is held, by the thread that the handler interrupted or by another one, or
 *     gathered bytes are being sent by a call that blocks: the handler's bytes are
 *     kept aside with the connection, and put behind those before anything else is
 *     written there, by whoever has the lock or takes it next.
 *
 * A handler that does not come back (longjmp, _exit, exec) leaves no lock behind
 * and loses no gathered byte.
 */
#ifndef UNSTALL_NESTED_H
#define UNSTALL_NESTED_H

#include "shim.h"

ssize_t nested_write(const struct out *o);

/* Must what moves bytes into fd without a buffer of the caller's (sendfile, splice), or in several
 * messages, stand behind what is beneath it?  Then these are made instead. */
bool nested_stands_behind_slow(int fd);
ssize_t nested_move(int fd, int from, off_t *offset, size_t bytes);
int nested_messages(int fd, struct mmsghdr *messages, unsigned count, int flags);

static inline bool nested_stands_behind(int fd) {
    return UNLIKELY(self.depth || self.draining || self.vforked) && nested_stands_behind_slow(fd);
}

/* Before longjmp out of a handler, or out of nothing at all: give back what this
 * thread holds of ours. */
void nested_abandon(void);

/* Before the process ends, or its image is replaced, from inside a handler. */
void nested_process_ends(void);

#endif
