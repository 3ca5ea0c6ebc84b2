/* SPDX-License-Identifier: MIT
 *
 * The names of modes, roles, states and endpoints in a statistics file.
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

#endif
