/* SPDX-License-Identifier: MIT
 *
 * SO_COOKIE -> connection.  A descriptor whose creation we did not see may lead to a
 * connection that is already known.
 *
 * A hash table of pointers, under one short lock.  It is used when a descriptor is first
 * met or a cookie first asked, never by a write on the fast path.  A connection that ends stays
 * in the table: its cookie no longer matches, and the next rebuild drops its slot.  Without
 * memory for a larger table a connection is not entered, and its copies become connections of
 * their own.
 *
 * Fork: the child gets the table as it is at that instant.  Slots and the table's pointer are
 * single stores, in an order that keeps the table consistent.
 */
#ifndef UNSTALL_COOKIES_H
#define UNSTALL_COOKIES_H

#include "conn.h"

/* Enter the cookie of c; 0: the socket has none.  Lock held. */
void cookies_note(struct conn *c, uint64_t cookie);

/* The connection in use with this cookie, locked, or NULL.  `*missed`: there may be one, but a lock cannot be
 * had. */
struct conn *cookies_find(uint64_t cookie, bool *missed);

#endif
