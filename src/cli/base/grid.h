/* SPDX-License-Identifier: MIT
 *
 * A table of text: its columns, and which of them a terminal has room for.  Those of the highest rank are
 * left out first; those of rank 0 stay.
 */
#ifndef UNSTALL_GRID_H
#define UNSTALL_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { GRID_COLUMNS = 10 };

struct grid_column {
    const char *heading;
    unsigned width; /* with the blank before it */
    bool left;      /* text, at the left; else numbers, at the right */
    unsigned rank;
};

struct grid {
    const struct grid_column *columns; /* the caller's, as long as the grid is used */
    size_t count;
    bool shown[GRID_COLUMNS];
    size_t last; /* the last one that is shown */
};

/* Chooses the columns for `room`. */
struct grid grid_fit(const struct grid_column *columns, size_t count, unsigned room);

/* What the shown columns take together. */
unsigned grid_width(const struct grid *g);

/* A line of cells, one for each column, shown or not.  Text that is wider than its column is followed by a
 * new line; in the last column it may be of any width. */
void grid_line(FILE *out, const struct grid *g, const char *const cells[]);
/* The headings, in bold where the terminal has colours. */
void grid_heading(FILE *out, const struct grid *g);

#endif
