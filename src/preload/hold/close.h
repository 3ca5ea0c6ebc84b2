/* SPDX-License-Identifier: MIT
 *
 * The end of a connection.
 */
#ifndef UNSTALL_CLOSE_H
#define UNSTALL_CLOSE_H

#include "conn.h"

enum { CLOSE_LOWEST = 256 }; /* a descriptor of our own is not below it, if it can be so */

/* The application closes the last descriptor while the kernel has no room for
 * the buffered bytes: a descriptor of our own keeps the connection open until
 * the window's thread has sent them.  Lock held.  CLOSE_ENDS: no descriptor was available; the
 * bytes were sent as far as room came in time; or SO_LINGER asks for a reset.  CLOSE_UNLOCKED: the lock was
 * released, and cannot be had again.
 *
 * Where SO_LINGER has a time, the close waits for room as long, as the kernel's own close would, and then
 * the option is cleared: the last close must not block the window's thread. */
enum close_lingers { CLOSE_ENDS, CLOSE_LINGERS, CLOSE_UNLOCKED };
enum close_lingers close_lingers(struct conn *c, int fd);

/* Counts the end of c and releases it, after its last descriptor `fd` was removed.  Lock held; unlocks. */
void close_ends(struct conn *c, int fd);

/* A lingering connection has sent all its bytes: closes and releases it.  Lock held; unlocks. */
void close_linger_ends(struct conn *c);

#endif
