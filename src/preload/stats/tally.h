/* SPDX-License-Identifier: MIT
 *
 * What happens on a connection goes to the segment: when its message begins,
 * when input answers it, when it ends.  Called only where c->evidence is there,
 * so that without statistics each costs the callers one branch.
 *
 * The counts themselves stay where they are (conn_counts, under the
 * connection's lock); what has been added to them since the last time is added
 * to the connection's row at each input that ends a message, every MOVE_AFTER
 * reads or writes without one, and at the end.
 *
 * Lock held, for all of these, unless said otherwise.
 */
#ifndef UNSTALL_TALLY_H
#define UNSTALL_TALLY_H

#include "evidence.h"
#include "policy.h"

/* Have statistics anything to do where no lock is held (shim_tally.h)? */
bool tally_pending(void);

/* c has two ends from now on, or is getting them. */
void tally_born(struct conn *c);
/* A connection that was not born in our sight, if it is connected. */
void tally_first_sight(struct conn *c);

/* Before a write, which may be the first of a message. */
void tally_write_begins(struct conn *c);
/* The write is accounted for; or it failed (action: it was accounted for before). */
void tally_written(struct conn *c, const struct policy_action *action);
void tally_unsent(struct conn *c, const struct policy_action *action);

/* Input has come; before policy_input(). */
void tally_input(struct conn *c);

/* What has been counted until now goes to the segment. */
void tally_moves(struct conn *c);

/* The connection ends; `now` is what TCP_INFO says, or NULL. */
void tally_ends(struct conn *c, const struct kernel_tcp_info *now);

/* The mode that c goes by in this configuration.  False: it takes part in an
 * experiment, but its arm cannot be told before it is connected. */
bool tally_mode(struct conn *c, const struct config *now, enum mode *mode);

#endif
