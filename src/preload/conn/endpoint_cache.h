/* SPDX-License-Identifier: MIT
 *
 * What siblings teach: the connections accepted from one listener, or made to one
 * destination, write alike.  A new one starts with what those before it have learned
 * (policy.bursty and the model of its turns), so that a program with one exchange a
 * connection is foreseen too.
 *
 * A table of a fixed size, shared by all threads without a lock: its words are
 * read and written whole, and a model that is half one sibling's and half
 * another's, or that of another family whose number is the same, costs at most a
 * push or a segment, as any wrong guess does.
 */
#ifndef UNSTALL_KIN_H
#define UNSTALL_KIN_H

#include <sys/socket.h>

#include "conn.h"

/* The number of a family: 1 to 255; 0: none. */
uint8_t endpoint_of_listener(const struct conn *listener);
uint8_t endpoint_of_destination(const struct sockaddr *address, socklen_t length);

/* A new connection (lock held) is one of the family. */
void endpoint_join(struct conn *c, uint8_t endpoint);

/* Holds of this family came late: TCP_NODELAY alone, for good (also where two families have
 * the same number). */
void endpoint_set_nodelay_only(uint8_t endpoint);
extern bool endpoint_nodelay_only[256];

/* Is it time for the family of c to learn from it?  Now and then. */
static inline bool endpoint_update_is_due(const struct conn *c) {
    return c->endpoint && (c->counts.turns & (c->counts.turns - 1)) == 0;
}

/* A turn of c has ended, or its first input has come (lock held): its family learns from
 * it, if it is due. */
void endpoint_update(const struct conn *c);

#endif
