/* SPDX-License-Identifier: MIT
 *
 * What `unstall top` shows: one line for each endpoint of each process that runs, by
 * the difference between two looks at the folder.  The frame is made here as text;
 * whether a terminal shows it or a pipe takes it is another matter.
 */
#ifndef UNSTALL_CLI_TOP_FRAME_H
#define UNSTALL_CLI_TOP_FRAME_H

#include "stats_files.h"

enum { TOP_WIDTH = 80, TOP_LINE = 512 };

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
    const struct reader_file *process; /* of the later look */
    struct stats_row id;
    struct reader_tally since; /* what came between the looks */
    uint64_t median, p99;
};

struct top {
    const char *folder;
    struct stats_files looks[2];
    unsigned now;   /* which of the looks is the later one */
    double seconds; /* between them; 0: there is but one */
    size_t count;
    struct top_line *lines;
    enum top_order order;
    bool reversed;
    unsigned runs, ended; /* processes */
};

/* Look again.  0, or EXIT_OWN, complained. */
int top_look(struct top *t);

/* Sort the lines of the last look by t->order. */
void top_sort(struct top *t);

void top_end(struct top *t);

/* The summary above, the heading and line n, without newline, at most `width` columns. */
void top_summary(const struct top *t, unsigned width, bool ascii, char text[TOP_LINE]);
void top_heading(unsigned width, char text[TOP_LINE]);
void top_text(const struct top *t, size_t n, unsigned width, bool ascii, char text[TOP_LINE]);

const char *top_order_name(enum top_order order);

#endif
