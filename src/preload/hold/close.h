/* SPDX-License-Identifier: MIT
 *
 * The end of a connection.
 */
#ifndef UNSTALL_CLOSE_H
#define UNSTALL_CLOSE_H

#include "conn.h"

/* The application closes the last descriptor while the kernel has no room for
 * what was buffered: a descriptor of our own keeps the connection until the
 * ticker has sent it.  Lock held.  False: no descriptor to be had. */
bool close_lingers(struct conn *c, int fd);

/* Its last descriptor, `fd`, leads to c no longer: counted, and given back.  Lock held; unlocks. */
void close_ends(struct conn *c, int fd);

/* Everything of a lingering connection has left: close and release.  Lock held; unlocks. */
void close_linger_ends(struct conn *c);

#endif
