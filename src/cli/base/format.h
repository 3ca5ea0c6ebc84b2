/* SPDX-License-Identifier: MIT
 *
 * Times, counts, dates and file names as text.
 *
 * Functions that take `text` write into it and return it.
 */
#ifndef UNSTALL_CLI_FORMAT_H
#define UNSTALL_CLI_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAME_ROOM = 64 };

/* `any` with '?' for each control character, which a terminal would obey, and for each byte beyond ASCII,
 * whose character set is not known. */
const char *safe_text(const char *any, char *text, size_t size);

/* The last part of a path; the whole path if it ends in a slash. */
const char *base_of(const char *path);

/* The same, made safe. */
const char *base_text(const char *path, char *text, size_t size);

/* True if the text begins with one of these. */
bool begins_with_any(const char *text, const char *const beginnings[], size_t count);

/* "43.9 ms", "4.2 s", "310 µs" (`ascii`: "310 us"): three digits at most. */
const char *time_text(uint64_t ns, bool ascii, char text[NAME_ROOM]);

/* "96", "12 345" */
const char *count_text(uint64_t n, char text[NAME_ROOM]);

/* "1 byte", "12 345 bytes" */
const char *some_text(uint64_t n, const char *noun, char text[NAME_ROOM]);

/* A count in less than `columns`: "12.3M" if it would be longer. */
const char *short_count_text(uint64_t n, size_t columns, char text[NAME_ROOM]);

/* "2026-11-21T12:50:04.123Z" */
const char *date_text(uint64_t realtime_ns, char text[NAME_ROOM]);

#endif
