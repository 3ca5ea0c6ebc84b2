/* SPDX-License-Identifier: MIT
 *
 * Writes the events of a connection to the statistics file: the begin of a message,
 * the input that answers it, the end.  Called only if c->evidence is set, so that
 * without statistics each call costs one branch; tally_created() and tally_first_sight() make it.
 *
 * The counters stay in the connection (conn_counts, under its lock).  Their growth is
 * added to the connection's row at each input that ends a message, after MOVE_AFTER
 * reads or writes without one, and at the end.
 *
 * Lock held, for all of these, unless said otherwise.
 */
#ifndef UNSTALL_TALLY_H
#define UNSTALL_TALLY_H

#include "evidence.h"
#include "policy.h"

/* True if statistics have work that needs no lock held (write.h). */
bool tally_pending(void);

/* c is connected or accepted, or is about to be. */
void tally_created(struct conn *c);
/* A connection whose creation we did not see; ignored unless it is connected. */
void tally_first_sight(struct conn *c);

/* Before a write, which may be the first of a message. */
void tally_write_begins(struct conn *c);
/* The write is counted; or it failed (`action`: it was counted before). */
void tally_written(struct conn *c, const struct policy_action *action);
void tally_unsent(struct conn *c, const struct policy_action *action);

/* Input has arrived.  Called before policy_input(). */
void tally_input(struct conn *c, uint64_t now);

/* Move the counts to the statistics file. */
void tally_moves(struct conn *c);

/* The connection ends; `now` is its TCP_INFO, or NULL. */
void tally_ends(struct conn *c, const struct kernel_tcp_info *now);

/* The mode of c in this configuration.  False: it takes part in an experiment, but its arm
 * depends on an address that is not known before it is connected. */
bool tally_mode(struct conn *c, const struct config *now, enum mode *mode);

#endif
