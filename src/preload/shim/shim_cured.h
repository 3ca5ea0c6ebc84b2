/* SPDX-License-Identifier: MIT
 *
 * Connections that get TCP_NODELAY when they are made.
 */
#ifndef UNSTALL_SHIM_CURED_H
#define UNSTALL_SHIM_CURED_H

#include "conn.h"

extern INTERNAL bool rings_known; /* this process has an io_uring */

/* Runs when c has been made.  Lock held. */
void shim_nodelay_at_creation(struct conn *c);

#endif
