/* SPDX-License-Identifier: MIT
 *
 * Live configuration.  A tool writes the control block of the statistics file; this
 * process adopts it when a message starts, and at each tick of the ticker.
 *
 * A block with bad values, or one that stays unfinished, is ignored with one warning.
 */
#ifndef UNSTALL_STATS_CONTROL_H
#define UNSTALL_STATS_CONTROL_H

#include "stats_file.h"

extern INTERNAL uint32_t control_seen; /* the last sequence that was looked at */

/* Cheap: true if the block has changed since the last look. */
static inline bool control_changed(void) {
    struct stats_file *s = stats_file_now();
    return s && UNLIKELY(LOAD(&s->control.sequence) != LOAD(&control_seen));
}

/* Read the block and publish its configuration.  True: the configuration has changed.  The
 * caller then sweeps all connections (sweep_told()) and passes `sequence` to
 * control_is_in_force(). */
bool control_look(uint32_t *sequence);
void control_is_in_force(uint32_t sequence);

/* Fill the control block of a new statistics file with the configuration in force. */
void control_begins(struct stats_file *s);

#endif
