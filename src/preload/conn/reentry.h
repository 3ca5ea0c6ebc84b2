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
 * In every mode a handler that closes, replaces or makes a descriptor takes the number's
 * word off the table at once.  If the connection's lock is free, the handler closes it as
 * any call does; else the holder of the lock, or the next one, counts anew the
 * descriptors that lead to it.  A new number stays unknown, so that its first write asks the kernel.
 * An option that a handler sets, or its shutdown, is noted as bytes are kept aside.  In mode coalesce the
 * socket is shut down at the unlock, behind the bytes of the interrupted code.
 *
 * Not covered: the few instructions between the load of a descriptor and its system call; a connect anew of
 * the very connection that the handler has interrupted; the child that a handler forks, until the handler
 * returns.
 *
 * A handler that does not return (longjmp, _exit, exec) leaves no lock behind
 * and loses no buffered byte.
 */
#ifndef UNSTALL_REENTRY_H
#define UNSTALL_REENTRY_H

#include "conn.h"

/* The bytes of one write of a handler, or the value of an option.  Each piece is a mapping of its own,
 * because a handler must not take a lock. */
struct piece {
    struct piece *next;
    uint32_t generation; /* of the connection, when the handler found it */
    uint32_t bytes, room;
    int level, name; /* of the option; 0: bytes */
    char data[];
};

enum { PIECE_MOST = 65536 };
/* As a level. */
enum { MISSED_SHUTDOWN = -1, MISSED_CLOSE = -2, SHUTS_LATER = -3 /* the kernel has not been told */ };

/* A piece with room for `bytes`, but at most PIECE_MOST; NULL: no memory. */
struct piece *reentry_piece(uint32_t generation, size_t bytes);
void reentry_unmap(struct piece *piece);
/* Append a piece to the buffer of c: now if its lock is free, else at the next unlock. */
void reentry_keep_aside(struct conn *c, struct piece *piece);

/* The next functions are for calls of a handler.  `fd` leads to its connection no longer. */
void reentry_left(int fd);
/* The handler has set an option, or shuts the sending side.  False: nothing is noted. */
bool reentry_note(int fd, int level, int name, const void *value, uint32_t length);
/* The connection of fd, locked, or NULL: its lock is this thread's, or does not become free.  After the
 * unlock the caller puts `*outer` back into self.locked. */
struct conn *reentry_lock(int fd, struct conn **outer);

/* Before a longjmp, which may leave a handler: release all locks of ours that this thread holds. */
void reentry_abandon(void);

#endif
