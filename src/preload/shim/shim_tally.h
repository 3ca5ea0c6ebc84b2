/* SPDX-License-Identifier: MIT
 *
 * What statistics need where no lock is held: their file and live configuration.
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

/* Where c->evidence is there, before a write: statistics may have to let go of the
 * lock first.  The connection again, locked, or NULL. */
struct conn *shim_tally(struct conn *c, int fd);

#endif
