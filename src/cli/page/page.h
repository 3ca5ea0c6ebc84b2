/* SPDX-License-Identifier: MIT
 *
 * A self-contained page of HTML: no network, light and dark, readable without colours and without scripts.
 *
 * Text is escaped.  A control character, and a byte that is no UTF-8, is written as '?'.
 */
#ifndef UNSTALL_CLI_PAGE_H
#define UNSTALL_CLI_PAGE_H

#include <stdint.h>
#include <stdio.h>

void page_begin(FILE *out, const char *title);
/* Ends it with a line that says when, on which host and kernel, and by which command it was made. */
void page_end(FILE *out);

/* Text within an element that the caller has written. */
void page_text(FILE *out, const char *text);

void page_heading(FILE *out, const char *text);
void page_paragraph(FILE *out, const char *text);
void page_verdict(FILE *out, const char *text);

/* The time lost in stalls, and the time that they would cost a day at this rate.  `in` goes before the time
 * observed: "" or "a recording of ".  Writes nothing if no time was lost. */
void page_bill(FILE *out, uint64_t stalls, uint64_t lost_ns, uint64_t looked_ns, const char *in);

/* A line to copy. */
void page_command(FILE *out, const char *text);

/* Text whose line breaks and spaces count. */
void page_verbatim(FILE *out, const char *text);

/* A table that a click on a heading sorts.  `heads` ends with NULL; the first column has text, the others
 * have numbers. */
void page_table_begin(FILE *out, const char *name, const char *const *heads);
void page_row_begin(FILE *out);
void page_cell(FILE *out, const char *text);
/* A click on the heading sorts the column by `value`. */
void page_number(FILE *out, const char *text, double value);
void page_row_end(FILE *out);
void page_table_end(FILE *out);

#endif
