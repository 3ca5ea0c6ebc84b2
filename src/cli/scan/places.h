/* SPDX-License-Identifier: MIT
 *
 * Finds the two places in a program that write the pieces of a stalled message.  The source `exact`
 * keeps some calls with their stacks; this file turns them into the patterns that `sites` names.  It
 * reads the mappings of a process while the process runs, and unwinds the stacks at the end.
 */
#ifndef UNSTALL_SCAN_PLACES_H
#define UNSTALL_SCAN_PLACES_H

#include "scan_table.h"
#include "stats_files.h"

#include "bpf/shared.h"

enum { PLACES_PROCESSES = 8 };

struct scan_places;

/* One of the PLACES_PROCESSES is kept for the process `wanted` (0: for none).  NULL: no memory. */
struct scan_places *scan_places_begin(pid_t wanted);

/* Takes a call; the calls of one connection come in the order in which the program made them. */
void scan_places_take(struct scan_places *p, const struct scan_call *call);

/* The last call of this connection has stalled. */
void scan_places_stalled(struct scan_places *p, uint64_t cookie);

/* Name the places in the processes of these rows.  The result belongs to `p`. */
const struct stats_files *scan_places_of(struct scan_places *p, const struct scan_table *t);

void scan_places_end(struct scan_places *p);

#endif
