/* SPDX-License-Identifier: MIT
 *
 * The counters of a row: their names, and the few sums that several views show.
 */
#ifndef UNSTALL_CLI_COUNTERS_H
#define UNSTALL_CLI_COUNTERS_H

#include "reader.h"

/* As in JSON and metrics. */
extern const char *const counter_names[STATS_COUNTERS];

/* False for a row that has seen neither a connection nor a byte: no view shows it. */
bool is_used(const struct reader_row *row);

/* False for a row in whose mode stalls are not looked for: its zeros mean nothing. */
bool is_looked_at(const struct reader_row *row);

/* Proved stalls, and the time lost in them; both include the stalls of which only a bound is known. */
uint64_t proved_stalls(const struct reader_tally *t);
uint64_t lost_ns(const struct reader_tally *t);

#endif
