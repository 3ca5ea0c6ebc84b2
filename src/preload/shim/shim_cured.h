/* SPDX-License-Identifier: MIT
 *
 * Connections that get TCP_NODELAY from the beginning.
 */
#ifndef UNSTALL_SHIM_CURED_H
#define UNSTALL_SHIM_CURED_H

#include "conn.h"

extern bool rings_known; /* this process has an io_uring */

/* c is made; lock held. */
void shim_cures_at_birth(struct conn *c);

#endif
