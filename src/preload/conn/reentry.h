/* SPDX-License-Identifier: MIT
 *
 * Calls that cannot have a connection's lock: a signal handler's that has interrupted its own thread inside
 * it, and another thread's that has waited its bound (lock.h).  One protocol for both:
 *
 *   - What can pass through passes: every write in a mode without a buffer, every read, wait and query.  Its
 *     bytes are counted without the lock (conn_count_bytes()).
 *   - Bytes that must not overtake buffered bytes of the same connection (mode coalesce) are kept aside with
 *     it, in pieces.  The holder of the lock, or the next one, appends them to the buffer before any other
 *     write.
 *   - What the call would have noted is a flag (enum conn_aside): the end of a turn or of sending, input, an
 *     option.  The holder, or the next one, makes up for it.
 *   - A descriptor that is closed or replaced leaves the table at once, and a new number stays unknown, so
 *     that its first write asks the kernel.  The holder, or the next one, counts the descriptors anew.  If
 *     bytes may be buffered, a descriptor of our own keeps the socket open for them.
 *   - A walk over all connections leaves this one out: a fork leaves its bytes to this process, exec and
 *     spawn leave TCP_NODELAY set for the child.  At the end of the process, and at exec, its buffered bytes
 *     are sent all the same: the holder will not run again.
 *   - In mode coalesce the socket is shut down at the unlock, behind the bytes of the interrupted code.
 *
 * Not covered: the few instructions between the load of a descriptor and its system call; a connect anew of
 * the very connection that the handler has interrupted; the child that a handler forks, until the handler
 * returns.
 *
 * A handler may also leave by any way: longjmp(3), which abandons the locks; a jump that the compiler has
 * made, a Lisp's own unwinding, setcontext(3), an exception.  Then the thread's next call shows it, where it
 * comes from the same place on the stack as the interrupted one: two frames cannot have one place
 * (reentry_is_over()).  A call from elsewhere proves nothing, not even from above: it may be a coroutine's,
 * whose stack may be an array of a caller's.  Until there is a proof the locks are as those of any other
 * stopped thread; but a write of this thread from above sends the buffered bytes first (reentry_last()), in a
 * way that the section bears if it goes on.  A handler that does not return leaves no lock behind then and
 * loses no buffered byte.
 */
#ifndef UNSTALL_REENTRY_H
#define UNSTALL_REENTRY_H

#include "conn.h"

/* The bytes of one write.  Each piece is a mapping of its own, because a handler must not take a lock. */
struct piece {
    struct piece *next;
    uint32_t generation; /* of the connection, when it was found */
    uint32_t bytes, room;
    char data[];
};

enum { PIECE_MOST = 65536 }; /* but for a blocking write: aside.c */

/* A piece with this room; NULL: no memory. */
struct piece *reentry_piece(uint32_t generation, uint32_t room);
void reentry_unmap(struct piece *piece);
/* Append a piece to the buffer of c: now if its lock is free, else at the next unlock. */
void reentry_keep_aside(struct conn *c, struct piece *piece);
/* The same with flags of enum conn_aside, of which `instead` are cleared. */
void reentry_set_aside(struct conn *c, unsigned flags, unsigned instead);

/* `fd` leads to its connection no longer.  reentry_unlink_begins() begins that: the connection, or NULL.  If
 * `*other` is -1, it has no descriptor any more.  reentry_unlink() is all of it. */
struct conn *reentry_unlink_begins(int fd, int *other);
void reentry_unlink(int fd);
/* For a handler: the connection of fd, locked, or NULL: its lock is this thread's, or cannot be had.  After
 * the unlock the caller puts `*outer` back into self.locked. */
struct conn *reentry_lock(int fd, struct conn **outer);

/* Before a longjmp, which may leave a handler: release all locks of ours that this thread holds. */
void reentry_abandon(void);

/* The holder of the lock does not unlock: sends what it has buffered, and what was set aside behind it.
 * True: all of it. */
bool reentry_last(struct conn *c);

/* A blocking send of buffered bytes begins, and is over: the outer one's connection is put back. */
static inline void reentry_drains(struct conn *c) {
    self.draining = c;
    self.drains = c != NULL;
    self.drain_frame = stack_pointer();
}

#endif
