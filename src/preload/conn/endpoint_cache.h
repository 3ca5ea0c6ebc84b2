/* SPDX-License-Identifier: MIT
 *
 * A cache of learned behaviour by endpoint.  The connections accepted from one listener, or
 * made to one destination, write alike.  A new connection starts with the values that earlier
 * ones have learned (policy.bursty and the model of their turns), so that prediction also works
 * for programs with one exchange a connection.
 *
 * A table of a fixed size, shared by all threads without a lock: its words are read and
 * written whole.  Two writers may mix their models, and two endpoints may share an entry.
 * That costs at most a push or a segment, as any wrong guess does.
 */
#ifndef UNSTALL_ENDPOINT_CACHE_H
#define UNSTALL_ENDPOINT_CACHE_H

#include "conn.h"

/* The number of an endpoint's entry: 1 to 255; 0: none. */
uint8_t endpoint_of_listener(const struct conn *listener);
uint8_t endpoint_of_destination(const struct sockaddr *address, socklen_t length);

/* A new connection (lock held) takes over the values of its endpoint. */
void endpoint_join(struct conn *c, uint8_t endpoint);

/* What late holds without a window have shown about an endpoint (turn.c).  No fact is ever cleared, and
 * each also applies to another endpoint with the same entry.  Entry 0 has none. */
union endpoint_late {
    struct {
        bool watched;      /* one hold was late; of the next ones the library can tell why */
        bool nodelay_only; /* the program makes its pieces late: TCP_NODELAY only */
    };
    uint16_t any;
};
extern INTERNAL union endpoint_late endpoint_late[256];

/* True if the entry is due for an update: when the number of turns is a power of two (or 0). */
static inline bool endpoint_update_is_due(const struct conn *c) {
    return c->endpoint && (c->counts.turns & (c->counts.turns - 1)) == 0;
}

/* policy.crosses has become true. */
void endpoint_crosses(const struct conn *c);

/* A turn of c has ended, or its first input has arrived (lock held): update the entry, if due. */
void endpoint_update(const struct conn *c);

#endif
