/* SPDX-License-Identifier: MIT
 *
 * Live configuration: what a tool writes into the segment's control block is
 * adopted when a message starts, and at each tick of the window's thread.
 *
 * What makes no sense is ignored with one warning, and so is a block that
 * somebody never finished writing.
 */
#ifndef UNSTALL_STATS_CONTROL_H
#define UNSTALL_STATS_CONTROL_H

#include "stats_file.h"

extern uint32_t control_seen; /* the last sequence that was looked at */

/* Cheap: has somebody written since we looked? */
static inline bool control_changed(void) {
    struct stats_file *s = stats_file_now();
    return s && UNLIKELY(LOAD(&s->control.sequence) != LOAD(&control_seen));
}

/* Adopt it: publish the configuration.  True: another one is in force; all connections are
 * to be swept (sweep_told()), and then `sequence` goes to control_is_in_force(). */
bool control_look(uint32_t *sequence);
void control_is_in_force(uint32_t sequence);

/* The block of a new segment says what is in force. */
void control_begins(struct stats_file *s);

#endif
