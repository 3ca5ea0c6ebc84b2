/* SPDX-License-Identifier: MIT
 *
 * The call stacks of stalls.  A pattern is a pair of call sites in the program: of the
 * first and of the second write of a message.  The statistics file counts each pattern and
 * keeps, for its first four occurrences, the registers and at most 24 KiB of stack of both
 * writes.  The command unwinds them: doing it here would need malloc, locks and libgcc_s.
 * The frames of this library come first; the reader drops them.
 *
 * Privacy: a stack may hold secrets of the program.  Stacks are kept only with a statistics
 * file (UNSTALL_STATS), and not with UNSTALL_STACKS=0.
 *
 * Cost: the first write of a message is copied before a second one is certain: 4 to 9 µs.
 * So a call site that has begun IDLE_MOST messages without a second write is not sampled
 * until one occurs, and a site with complete patterns is never sampled again.
 *
 * Locking: one lock for all tables, taken under a connection's lock by trylock only.  A
 * thread that does not get it keeps no stack this time.
 */
#ifndef UNSTALL_STACKS_H
#define UNSTALL_STACKS_H

#include "base.h"

struct evidence;
struct evidence_write;

void stacks_first_write(struct evidence *e, const struct evidence_write *w);
/* The small write after it, with a suspected or cured stall. */
void stacks_second_write(struct evidence *e, const struct evidence_write *w);
/* The message of e has stalled. */
void stacks_stalled(const struct evidence *e, uint64_t ns);

/* In the child of a fork, which has another statistics file. */
void stacks_forked(void);

#endif
