/* SPDX-License-Identifier: MIT
 *
 * A change of the configuration comes to the connections.
 */
#ifndef UNSTALL_SWEEP_H
#define UNSTALL_SWEEP_H

#include "conn.h"

/* Adopt the configuration in force.  Lock held. */
void sweep_adopt(struct conn *c);

/* Every connection: let go of what is held and adopt the configuration. */
void sweep(enum push_cause cause);

/* The control block has changed: look at it, and sweep if another configuration is in force.
 * Not under any lock. */
void sweep_told(void);

#endif
