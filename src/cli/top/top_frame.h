/* SPDX-License-Identifier: MIT
 *
 * A frame of `unstall top` as text: a line for each endpoint of each running process, from the difference
 * between two snapshots.  A terminal (top_screen.c) and `top --once` show the same frame.
 */
#ifndef UNSTALL_CLI_TOP_FRAME_H
#define UNSTALL_CLI_TOP_FRAME_H

#include "grid.h"
#include "stats_files.h"

enum { TOP_LINE = 512, TOP_FILTER = 48, PAST_LOOKS = 24, PAST_TEXT = PAST_LOOKS * 4 + 1 };

enum top_order {
    TOP_BY_STALLS, /* then by exchanges */
    TOP_BY_EXCHANGES,
    TOP_BY_MEDIAN,
    TOP_BY_P99,
    TOP_BY_CURED,
    TOP_BY_PID,
    TOP_BY_ENDPOINT,
    TOP_ORDERS
};

struct top_line {
    const struct reader_file *process; /* of the later snapshot */
    struct stats_row id;
    struct reader_tally since; /* counts between the snapshots */
    uint64_t median, p99;
    uint32_t row; /* its index in the statistics file */
    unsigned mode; /* to be shown */
    uint64_t past[PAST_LOOKS]; /* the medians of the last looks, the latest last; 0: no exchange */
};

struct top {
    const char *watched; /* a process id or a folder */
    struct stats_files looks[2];
    unsigned now;   /* index of the later one */
    double seconds; /* between them; 0: there is only one */
    size_t count, all;      /* those that pass the filter are the first `count` of all */
    struct top_line *lines;
    enum top_order order;
    bool reversed;
    unsigned runs, ended; /* processes */
    char filter
        [TOP_FILTER]; /* only lines that have this in program, endpoint, mode or id; "": all */
};

/* Takes the next snapshot.  0, or EXIT_OWN and a complaint. */
int top_look(struct top *t);

/* Puts the lines that pass t->filter first, sorted by t->order. */
void top_sort(struct top *t);

void top_end(struct top *t);

enum { TOP_PID, TOP_PROGRAM, TOP_ENDPOINT, TOP_MODE, TOP_RATE, TOP_MEDIAN, TOP_P99, TOP_STALLS, TOP_CURED,
       TOP_PAST, TOP_COLUMNS };

/* The columns of a frame, the same in each of its lines. */
struct top_layout {
    unsigned width;
    bool ascii;
    struct grid_column columns[TOP_COLUMNS];
    struct grid grid; /* of these columns: do not copy it */
};

void top_lay_out(struct top_layout *l, const struct top *t, unsigned width, bool ascii);

/* The summary, the heading and line n, each without newline and at most as wide as the layout. */
void top_summary(const struct top *t, const struct top_layout *l, char text[TOP_LINE]);
void top_heading(const struct top_layout *l, char text[TOP_LINE]);
void top_text(const struct top *t, size_t n, const struct top_layout *l, char text[TOP_LINE]);

/* Moves the medians by one place, from those of the look before (NULL: none), and adds the latest. */
void past_follow(uint64_t now[PAST_LOOKS], const uint64_t *before, uint64_t median);

/* One column for each look, on a logarithmic scale from 10 µs to 1 s, so that 40 ms looks the same in every
 * line: "▁▁▁▆▆▆", or digits from 0 to 7.  A look without an exchange is a space. */
const char *past_text(const uint64_t past[PAST_LOOKS], bool ascii, char text[PAST_TEXT]);

const char *top_order_name(enum top_order order);

/* On a terminal, with keys: runs until the user quits, and frees t.  0, or EXIT_OWN and a complaint. */
int top_screen(struct top *t, double interval);

#endif
