/* SPDX-License-Identifier: MIT
 *
 * Has this process an io_uring?  Bytes may then pass where we do not see them, and TCP_NODELAY is the
 * remedy.  Learned from syscall(SYS_io_uring_setup), and, as liburing and others make that call inline,
 * by looking among the process's descriptors for `anon_inode:[io_uring]`: where liburing is loaded
 * when a connection is made, and where a connection was made and not one byte has passed by us when it
 * ends, or when a later one is made.
 *
 * A look is at most 128 readlink(2), 0.1 ms, and there are at most four: at the 1st, 2nd, 4th and 8th such
 * occasion.  No lock; threads that come at once may look both.  No connection's lock may be held.
 */
#ifndef UNSTALL_RINGS_H
#define UNSTALL_RINGS_H

#include "conn.h"

/* At load: is liburing among what is loaded? */
void rings_start(void);

/* Before a connection is made known, so that it is born cured; and when it has been made (lock held). */
void rings_before_birth(void);
void rings_made(struct conn *c);

/* c is made, and not one byte has passed by us (lock held).  At its end that is a reason to look. */
bool rings_are_suspected(const struct conn *c);
void rings_look(void);

#endif
