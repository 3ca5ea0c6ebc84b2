/* SPDX-License-Identifier: MIT
 *
 * The two places in a program that write a message whose second piece stalls: from the calls that the
 * source `exact` keeps to what `sites` names.  A process is looked at while it lives; its few calls
 * are unwound at the end.
 */
#ifndef UNSTALL_SCAN_PLACES_H
#define UNSTALL_SCAN_PLACES_H

#include "scan_table.h"
#include "stats_files.h"

#include "bpf/shared.h"

enum { PLACES_PROCESSES = 8 };

struct scan_places;

struct scan_places *scan_places_begin(void); /* NULL: no memory */

/* Take the next call, in the order in which they were made on a connection. */
void scan_places_take(struct scan_places *p, const struct scan_call *call);

/* Name the places in the processes of these rows.  The result belongs to `p`. */
const struct stats_files *scan_places_of(struct scan_places *p, const struct scan_table *t);

void scan_places_end(struct scan_places *p);

#endif
