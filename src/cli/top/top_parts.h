/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of the live view on a terminal: top_screen.c has keys and the loop, top_draw.c draws.
 */
#ifndef UNSTALL_CLI_TOP_PARTS_H
#define UNSTALL_CLI_TOP_PARTS_H

#include "top_frame.h"

enum { TOP_FIRST_LINE = 3, TOP_STALL_PAIR = 1, TOP_CURED_PAIR, TOP_MODES = 7 };

enum view { VIEW_LINES, VIEW_HELP, VIEW_MODES, VIEW_FILTER, VIEW_ENDPOINT };

struct screen {
    struct top *top;
    double interval;
    enum view view;
    bool ascii, colours, paused;
    size_t selected, scrolled;
    uint32_t selected_pid;
    struct stats_row selected_row;
    char message[TOP_LINE];
    char *sites; /* VIEW_ENDPOINT: the call sites of the pieces, as text */
};

/* The keys that choose a mode. */
struct top_mode {
    char key;
    int mode;
    const char *name;
};

extern const struct top_mode top_modes[TOP_MODES];

/* The lines that have room on the terminal. */
size_t top_rows_shown(void);

/* Draws the whole view. */
void top_draw(struct screen *s);

#endif
