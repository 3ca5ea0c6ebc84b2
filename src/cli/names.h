/* SPDX-License-Identifier: MIT
 *
 * How things are called, and numbers written, in whatever the command says.
 * Functions that take `text` write into it and return it.
 */
#ifndef UNSTALL_CLI_NAMES_H
#define UNSTALL_CLI_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

enum { NAME_ROOM = 64, ENDPOINT_ROOM = 80 };

const char *mode_name(unsigned mode); /* "unknown" where it is none */
const char *role_name(const struct segment_row *row);
const char *life_name(enum reader_life life);

/* "127.0.0.1:80", "[::1]:80", "?" */
const char *address_text(const struct segment_address *a, char text[ENDPOINT_ROOM]);

/* The endpoint of a row: the address, or "other". */
const char *row_text(const struct segment_row *row, char text[ENDPOINT_ROOM]);

/* The last part of a path, what a terminal would obey replaced by '?'. */
const char *base_text(const char *path, char *text, size_t size);
const char *safe_text(const char *any, char *text, size_t size);

/* "43.9 ms", "4.2 s", "310 µs" (`ascii`: "310 us"): three digits at most. */
const char *time_text(uint64_t ns, bool ascii, char text[NAME_ROOM]);

/* "96", "12 345": for people. */
const char *count_text(uint64_t n, char text[NAME_ROOM]);

/* The same in less than `columns`: "12.3M" where it would be longer. */
const char *short_count_text(uint64_t n, size_t columns, char text[NAME_ROOM]);

/* "2026-11-21T12:50:04.123Z" */
const char *date_text(uint64_t realtime_ns, char text[NAME_ROOM]);

/* May characters beyond ASCII be written?  The locale says. */
bool speaks_utf8(void);

#endif
