/* SPDX-License-Identifier: MIT
 *
 * Who wrote the pieces: for each pattern, a pair of places in the program that
 * write the first and the second piece of a message, how often it was met, and of
 * the first four occurrences the registers and at most 16 KiB of stack of both
 * writes, to be unwound by the command (not here: that would need malloc, locks
 * and libgcc_s).  The frames of this library come first; the reader drops them.
 *
 * Sensitive: a stack holds whatever the program has there.  Only with a segment
 * (UNSTALL_STATS), and not with UNSTALL_STACKS=0.
 *
 * Cost: the first write of a message is kept before it is known that a second
 * follows, 4 to 9 µs, but only as long as its caller is promising: a place that
 * has begun IDLE_MOST messages without a second piece is left alone until one is
 * met again, and one whose patterns are complete for good.
 *
 * Locking: one lock for all of it, which is tried and never waited for: who does
 * not get it keeps no stack this time.  Taken under a connection's lock.
 */
#ifndef UNSTALL_STACKS_H
#define UNSTALL_STACKS_H

#include "base.h"

struct evidence;
struct evidence_write;

void stacks_first_write(struct evidence *e, const struct evidence_write *w);
/* The small write after it, for which a stall is suspected or was cured. */
void stacks_second_write(struct evidence *e, const struct evidence_write *w);
/* The message of e has stalled. */
void stacks_stalled(const struct evidence *e, uint64_t ns);

/* In the child of a fork, whose segment is another. */
void stacks_forked(void);

#endif
