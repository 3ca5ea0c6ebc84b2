/* SPDX-License-Identifier: MIT */
#include "grid.h"

#include "prose.h"
#include "terminal.h"

unsigned grid_width(const struct grid *g) {
    unsigned all = 0;
    for (size_t i = 0; i < g->count; i++)
        all += g->shown[i] ? g->columns[i].width : 0;
    return all;
}

/* The shown column that is the first to go; `count`: all others stay. */
static size_t least_important(const struct grid *g) {
    size_t found = g->count;
    for (size_t i = 0; i < g->count; i++)
        if (g->shown[i] && g->columns[i].rank &&
            (found == g->count || g->columns[i].rank > g->columns[found].rank))
            found = i;
    return found;
}

struct grid grid_fit(const struct grid_column *columns, size_t count, unsigned room) {
    struct grid g = {.columns = columns, .count = count};
    for (size_t i = 0; i < count; i++)
        g.shown[i] = true;
    for (size_t i = 0; grid_width(&g) > room && (i = least_important(&g)) < count;)
        g.shown[i] = false;
    for (size_t i = 0; i < count; i++)
        g.last = g.shown[i] ? i : g.last;
    return g;
}

static void print_cells(FILE *out, const struct grid *g, const char *const cells[]) {
    unsigned at = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct grid_column *c = &g->columns[i];
        unsigned blank = c->left && at > 0;
        if (!g->shown[i])
            continue;
        at += c->width;
        size_t columns = columns_of(cells[i]) + blank, free = columns < c->width ? c->width - columns : 0;
        fprintf(out, "%*s", c->left ? (int)blank : (int)free, "");
        print_safe(out, cells[i]);
        if (c->left && i != g->last)
            fprintf(out, columns > c->width ? "\n%*s" : "%*s", (int)(columns > c->width ? at : free), "");
    }
}

void grid_line(FILE *out, const struct grid *g, const char *const cells[]) {
    print_cells(out, g, cells);
    fputc('\n', out);
}

void grid_heading(FILE *out, const struct grid *g) {
    const char *headings[GRID_COLUMNS];
    for (size_t i = 0; i < g->count; i++)
        headings[i] = g->columns[i].heading;
    fputs(colour(out, BOLD), out);
    print_cells(out, g, headings);
    fprintf(out, "%s\n", colour(out, PLAIN));
}
