/* SPDX-License-Identifier: MIT
 *
 * Calls of a signal handler that interrupted its own thread inside one of our
 * locks.  The lock cannot be waited for, so the call passes through; in
 * coalesce, where bytes of the same connection may wait in the buffer, it must
 * not overtake them:
 *
 *   - the lock of the connection can be had: it is taken;
 *   - it is held, by the thread that the handler interrupted or by another one, or
 *     buffered bytes are being sent by a call that blocks: the handler's bytes are
 *     kept aside with the connection, and put behind those before anything else is
 *     written there, by whoever has the lock or takes it next.
 *
 * A handler that does not come back (longjmp, _exit, exec) leaves no lock behind
 * and loses no buffered byte.
 */
#ifndef UNSTALL_REENTRY_H
#define UNSTALL_REENTRY_H

#include "conn.h"

/* What one write of a handler left: a mapping of its own, because a handler may call
 * nothing that locks. */
struct piece {
    struct piece *next;
    int fd; /* that it was written to */
    uint32_t bytes, room;
    char data[];
};

enum { PIECE_MOST = 65536 };

/* With room for so many bytes, or for PIECE_MOST; NULL: no memory. */
struct piece *reentry_piece(int fd, size_t bytes);
void reentry_unmap(struct piece *piece);
/* To be put behind what is buffered on c, now if nobody has its lock. */
void reentry_keep_aside(struct conn *c, struct piece *piece);

/* Before longjmp out of a handler, or out of nothing at all: give back what this
 * thread holds of ours. */
void reentry_abandon(void);

#endif
