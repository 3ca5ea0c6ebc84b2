/* SPDX-License-Identifier: MIT
 *
 * Finds out whether this process uses io_uring.  The library does not see bytes that pass through a ring,
 * so its connections get TCP_NODELAY.
 *
 * A call syscall(SYS_io_uring_setup) shows a ring.  liburing and others make that call inline, so the
 * library also searches the process's descriptors for `anon_inode:[io_uring]`.  It does so
 * - when liburing is loaded and a connection is made;
 * - when a connection has carried no byte that the library saw, and it ends or a later one is made.
 *
 * One search costs at most 128 readlink(2), 0.1 ms.  The library searches at most four times: on the 1st,
 * 2nd, 4th and 8th such occasion.  There is no lock: two threads may search at the same time.  The caller
 * must hold no connection's lock.
 */
#ifndef UNSTALL_RINGS_H
#define UNSTALL_RINGS_H

#include "conn.h"

/* At load: looks for liburing among the loaded libraries. */
void rings_start(void);

/* rings_before_connection() runs before a connection is recorded, so that the connection gets
 * TCP_NODELAY from its start.  rings_made() runs once it is recorded (lock held). */
void rings_before_connection(void);
void rings_made(struct conn *c);

/* True: c is connected and the library saw no byte of it (lock held).  At its end this is a reason for
 * rings_look(). */
bool rings_are_suspected(const struct conn *c);
void rings_look(void);

#endif
