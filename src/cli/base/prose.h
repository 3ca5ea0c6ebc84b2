/* SPDX-License-Identifier: MIT
 *
 * Sentences for a terminal: built up in a bounded buffer, then wrapped.
 */
#ifndef UNSTALL_CLI_PROSE_H
#define UNSTALL_CLI_PROSE_H

#include <stddef.h>
#include <stdio.h>

enum { PROSE_ROOM = 2048 };

struct prose {
    char text[PROSE_ROOM];
    size_t used;
};

/* Append; what does not fit is cut. */
void prose_add(struct prose *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Write it in lines of at most `width` columns, `indent` before each.  A word that
 * is longer than a line stays whole. */
void prose_print(FILE *out, const struct prose *p, unsigned indent, unsigned width);

/* Columns that a text takes: its characters, all of width one. */
size_t columns_of(const char *text);

/* `text` padded with spaces to `width` columns, to the right or to the left of it. */
void print_left(FILE *out, const char *text, size_t width);
void print_right(FILE *out, const char *text, size_t width);

#endif
