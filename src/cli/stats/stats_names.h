/* SPDX-License-Identifier: MIT
 *
 * The names of counters, modes, roles, states and endpoints in a statistics file, and the few sums that
 * several views show.
 *
 * Functions that take `text` write into it and return it.
 */
#ifndef UNSTALL_CLI_STATS_NAMES_H
#define UNSTALL_CLI_STATS_NAMES_H

#include "reader.h"

enum { ENDPOINT_ROOM = 80 };

const char *mode_name(unsigned mode); /* "unknown" for any other number */
const char *role_name(const struct stats_row *row);
const char *life_name(enum reader_life life);

/* "127.0.0.1:80", "[::1]:80", "?" */
const char *address_text(const struct stats_address *a, char text[ENDPOINT_ROOM]);

/* The endpoint of a row: its address, or "other". */
const char *row_text(const struct stats_row *row, char text[ENDPOINT_ROOM]);

/* The same in a sentence: its address, or "other endpoints". */
const char *row_words(const struct stats_row *row, char text[ENDPOINT_ROOM]);

/* Of the counters, as in JSON and metrics. */
extern const char *const counter_names[STATS_COUNTERS];

/* False for a row that has seen neither a connection nor a byte: no view shows it. */
bool is_used(const struct reader_row *row);

/* False for a row in whose mode stalls are not looked for: its zeros mean nothing. */
bool is_looked_at(const struct reader_row *row);

/* Proved stalls, and the time lost in them; both include the stalls of which only a bound is known. */
uint64_t proved_stalls(const struct reader_tally *t);
uint64_t lost_ns(const struct reader_tally *t);

#endif
