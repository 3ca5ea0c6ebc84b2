/* SPDX-License-Identifier: MIT
 *
 * The work for statistics that must run without a connection's lock: opening the file and reading the live
 * configuration.
 */
#ifndef UNSTALL_SHIM_TALLY_H
#define UNSTALL_SHIM_TALLY_H

#include "config.h"
#include "conn.h"

void shim_tally_catch_up(void);

static inline void shim_tally_outside(void) {
    if (UNLIKELY(config()->stats != NULL))
        shim_tally_catch_up();
}

/* Runs before a write of a connection that has c->evidence.  It may have to release the
 * lock for a moment.  Returns the connection, locked, or NULL. */
struct conn *shim_tally(struct conn *c, int fd);

#endif
