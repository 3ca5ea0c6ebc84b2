/* SPDX-License-Identifier: MIT
 *
 * The terminal behind a stream: its width, its colours, its characters.
 */
#ifndef UNSTALL_CLI_TERMINAL_H
#define UNSTALL_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum colour { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, BLUE, CYAN };

/* True if this stream takes colours: a terminal, TERM not "dumb", and NO_COLOR unset or empty
 * (no-color.org). */
bool has_colours(FILE *out);

/* The characters that begin a colour, PLAIN ends it; "" without colours. */
const char *colour(FILE *out, enum colour c);

/* Columns of the terminal; 80 if there is no terminal or it does not tell. */
int terminal_width(FILE *out);

/* Its lines; 24 if there is no terminal or it does not tell. */
int terminal_height(FILE *out);

/* The width, within bounds. */
unsigned terminal_width_within(FILE *out, unsigned least, unsigned most);

/* True if the locale's character set is UTF-8; otherwise only ASCII may be written. */
bool speaks_utf8(void);

#endif
