/* SPDX-License-Identifier: MIT
 *
 * SO_COOKIE -> connection: a descriptor not born in our sight may lead to one that is
 * known already.
 *
 * A hash table of pointers, under one short lock: it is touched where a descriptor is first
 * met or a cookie first asked, never by a write in steady state.  A connection that ends, or
 * whose place is another's now, is not taken out: its cookie is no longer the one that is looked
 * for, and its slot is dropped when the table is next made anew.  Without memory for a larger
 * table a connection is not noted, and its copies are connections of their own.
 *
 * Fork: the child has the table as it was at that instant; slots and the table's pointer are
 * single stores, in an order that leaves it whole.
 */
#ifndef UNSTALL_COOKIES_H
#define UNSTALL_COOKIES_H

#include "conn.h"

/* The cookie of c was asked: 0 if there is none.  Lock held. */
void cookies_note(struct conn *c, uint64_t cookie);

/* A connection in use that has this cookie, locked, or NULL. */
struct conn *cookies_find(uint64_t cookie);

#endif
