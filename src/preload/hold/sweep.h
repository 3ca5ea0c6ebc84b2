/* SPDX-License-Identifier: MIT
 *
 * Applies a change of the configuration to the connections.
 */
#ifndef UNSTALL_SWEEP_H
#define UNSTALL_SWEEP_H

#include "conn.h"

/* Adopts the configuration in force.  Lock held. */
void sweep_adopt(struct conn *c);

/* For every connection: pushes the held bytes and adopts the configuration. */
void sweep(enum push_cause cause);

/* The control block has changed: reads it, and sweeps if another configuration is in force.
 * The caller holds no lock. */
void sweep_told(void);

#endif
