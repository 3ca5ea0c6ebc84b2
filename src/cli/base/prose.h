/* SPDX-License-Identifier: MIT
 *
 * Sentences for a terminal: appended to a bounded buffer, then wrapped.
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

/* Appends; text beyond the room is cut. */
void prose_add(struct prose *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends a space and a word as a shell takes it. */
void prose_add_word(struct prose *p, const char *word);

void prose_print(FILE *out, const struct prose *p, unsigned indent, unsigned width);

/* Writes words as lines of at most `width` columns, each indented by `indent`.  The first line begins in
 * `column`, after a label that the caller has written.  A word that is longer than a line stays whole. */
void print_wrapped(FILE *out, const char *text, unsigned column, unsigned indent, unsigned width);

/* `text` with '?' for each control character: a terminal would obey it.  print_wrapped() does the same. */
void print_safe(FILE *out, const char *text);

/* Columns that a text takes: its characters, each taken to be one column wide. */
size_t columns_of(const char *text);

/* `text` padded with spaces to `width` columns: text at the left, or at the right. */
void print_left(FILE *out, const char *text, size_t width);
void print_right(FILE *out, const char *text, size_t width);

#endif
