/* SPDX-License-Identifier: MIT
 *
 * Calls of a signal handler that interrupted its own thread inside one of our
 * locks.  Such a call cannot wait for the lock, so it passes through.  In mode
 * coalesce its bytes must not overtake buffered bytes of the same connection:
 *
 *   - If the lock of the connection is free, the handler takes it.
 *   - If a thread holds the lock, or a blocking call sends buffered bytes, the
 *     handler's bytes are kept aside with the connection.  The holder of the lock,
 *     or the next one, appends them to the buffer before any other write.
 *
 * A handler that does not return (longjmp, _exit, exec) leaves no lock behind
 * and loses no buffered byte.
 */
#ifndef UNSTALL_REENTRY_H
#define UNSTALL_REENTRY_H

#include "conn.h"

/* The bytes of one write of a handler.  Each piece is a mapping of its own, because a handler must
 * not take a lock. */
struct piece {
    struct piece *next;
    uint32_t generation; /* of the connection, when the handler found it */
    uint32_t bytes, room;
    char data[];
};

enum { PIECE_MOST = 65536 };

/* A piece with room for `bytes`, but at most PIECE_MOST; NULL: no memory. */
struct piece *reentry_piece(uint32_t generation, size_t bytes);
void reentry_unmap(struct piece *piece);
/* Append a piece to the buffer of c: now if its lock is free, else at the next unlock. */
void reentry_keep_aside(struct conn *c, struct piece *piece);

/* Before a longjmp, which may leave a handler: release all locks of ours that this thread holds. */
void reentry_abandon(void);

#endif
