/* SPDX-License-Identifier: MIT
 *
 * Draws the live view.
 */
#define NCURSES_WIDECHAR 1
#include "top_parts.h"

#include <curses.h>

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "bars.h"
#include "control.h"
#include "counters.h"
#include "format.h"
#include "stats_names.h"

const struct top_mode top_modes[TOP_MODES] = {
    {'o', STATS_MODE_OFF, "off"},
    {'b', STATS_MODE_OBSERVE, "observe"},
    {'n', STATS_MODE_NODELAY, "nodelay"},
    {'k', STATS_MODE_CORK, "cork"},
    {'l', STATS_MODE_COALESCE, "coalesce"},
    {'a', STATS_MODE_AUTO, "auto"},
    {'s', CONTROL_KEEP, "as it was started"},
};

static void put(int line, const char *text) {
    move(line, 0);
    addstr(text);
    clrtoeol();
}

static unsigned line_attributes(const struct screen *s, size_t n) {
    const struct top_line *line = &s->top->lines[n];
    unsigned attributes = n == s->selected ? A_REVERSE : 0;
    if (s->colours && proved_stalls(&line->since))
        attributes |= COLOR_PAIR(TOP_STALL_PAIR);
    else if (s->colours && line->since.counter[COUNT_STALLS_CURED])
        attributes |= COLOR_PAIR(TOP_CURED_PAIR);
    return attributes;
}

size_t top_rows_shown(void) {
    return LINES > TOP_FIRST_LINE + 1 ? (size_t)(LINES - TOP_FIRST_LINE - 1) : 1;
}

static void draw_none(const struct screen *s) {
    char text[TOP_LINE] = "No process here";
    if (s->top->all)
        snprintf(text, sizeof(text), "No line of %zu has \"%s\"; Escape shows them all", s->top->all,
                 s->top->filter);
    else if (!stats_folder_obstacle(s->top->watched))
        snprintf(text, sizeof(text), "No process here: start one by unstall run --stats %.300s -- PROGRAM",
                 s->top->watched);
    put(TOP_FIRST_LINE, text);
}

static void draw_lines(struct screen *s, const struct top_layout *l) {
    char text[TOP_LINE];
    size_t room = top_rows_shown();
    if (s->selected < s->scrolled)
        s->scrolled = s->selected;
    if (s->selected >= s->scrolled + room)
        s->scrolled = s->selected - room + 1;
    attrset(A_BOLD);
    top_heading(l, text);
    put(TOP_FIRST_LINE - 1, text);
    attrset(A_NORMAL);
    for (size_t i = 0; i < room; i++) {
        size_t n = s->scrolled + i;
        text[0] = '\0';
        if (n < s->top->count) {
            top_text(s->top, n, l, text);
            attrset(line_attributes(s, n));
        }
        put(TOP_FIRST_LINE + (int)i, text);
        attrset(A_NORMAL);
    }
    if (!s->top->count)
        draw_none(s);
}

static void draw_help(void) {
    static const char *const lines[] = {
        "q          quit",
        "up, down   select a line; k and j too",
        "Enter      the selected endpoint: distribution, who wrote the pieces",
        "m          choose another mode for the selected process, such as off",
        "/          show only lines with a text in program, endpoint, mode or pid",
        "Escape     show all lines again",
        "space      pause, and go on",
        "s e c      sort by stalls, exchanges, cured messages",
        "5 9        sort by the median, by the 99th percentile",
        "p n r      sort by process id, by endpoint; the other way round",
        "+ -        look more often, less often",
        "",
        "Rates and times are those of the last interval.  At a listening",
        "endpoint (\"at\") the peer's own time until it speaks again is in them.",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        put(TOP_FIRST_LINE + (int)i, lines[i]);
}

static void draw_modes(const struct screen *s) {
    char text[TOP_LINE], name[64];
    const struct reader_file *p = s->top->lines[s->selected].process;
    snprintf(text, sizeof(text),
             "The mode of %s (pid %u), now %s:", base_text(p->header.program, name, sizeof(name)),
             p->header.pid, mode_name(p->header.mode));
    put(TOP_FIRST_LINE, text);
    for (size_t i = 0; i < TOP_MODES; i++) {
        snprintf(text, sizeof(text), "  %c  %s", top_modes[i].key, top_modes[i].name);
        put(TOP_FIRST_LINE + 1 + (int)i, text);
    }
    put(TOP_FIRST_LINE + 2 + TOP_MODES, "  any other key: leave it");
}

/* Writes the lines of `text` from `line` on, as far as there is room. */
static int put_text(int line, const char *text) {
    char one[TOP_LINE];
    while (text && *text && line < LINES - 1) {
        size_t n = strcspn(text, "\n");
        snprintf(one, sizeof(one), "%.*s", (int)n, text);
        put(line++, one);
        text += n + (text[n] == '\n');
    }
    return line;
}

static void draw_distribution(const struct screen *s, int *at, const struct top_line *line) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    bars_print(out, line->since.exchange, (unsigned)COLS - 1, s->ascii);
    if (fclose(out) == 0)
        *at = put_text(*at, text);
    free(text);
}

static void draw_endpoint(const struct screen *s) {
    const struct top_line *line = &s->top->lines[s->selected];
    const uint64_t *c = line->since.counter;
    char text[TOP_LINE], past[PAST_TEXT], name[64], address[ENDPOINT_ROOM], lost[NAME_ROOM];
    int at = TOP_FIRST_LINE;
    snprintf(text, sizeof(text), "%s (pid %u), %s %s, mode %s",
             base_text(line->process->header.program, name, sizeof(name)),
             line->process->header.pid, line->id.role == ROLE_LISTENER ? "at" : "to",
             row_text(&line->id, address), mode_name(line->mode));
    attrset(A_BOLD);
    put(at++, text);
    attrset(A_NORMAL);
    snprintf(text, sizeof(text), "exchange times, the last %d looks: %s", PAST_LOOKS,
             past_text(top_past(s->top, line), s->ascii, past));
    put(at++, text);
    char behind[64] = "";
    if (c[COUNT_STALLS_CROSSING])
        snprintf(behind, sizeof(behind), " (%lu behind an earlier message)",
                 (unsigned long)c[COUNT_STALLS_CROSSING]);
    snprintf(text, sizeof(text), "since the last look: %lu exchanges, %lu stalls%s, %s lost, %lu cured",
             (unsigned long)c[COUNT_EXCHANGES], (unsigned long)proved_stalls(&line->since), behind,
             time_text(lost_ns(&line->since), s->ascii, lost), (unsigned long)c[COUNT_STALLS_CURED]);
    put(at++, text);
    draw_distribution(s, &at, line);
    put_text(at, s->sites);
}

void top_draw(struct screen *s) {
    char text[TOP_LINE];
    struct top_layout layout;
    erase();
    attrset(A_NORMAL);
    top_lay_out(&layout, s->top, (unsigned)COLS, s->ascii);
    top_summary(s->top, &layout, text);
    put(0, text);
    snprintf(text, sizeof(text), "by %s%s, every %.1f s%s%s%s   q quit  ? help  m mode",
             top_order_name(s->top->order), s->top->reversed ? ", reversed" : "", s->interval,
             s->paused ? ", paused" : "", s->top->filter[0] ? ", only " : "", s->top->filter);
    put(1, text);
    if (s->view == VIEW_HELP)
        draw_help();
    else if (s->view == VIEW_MODES)
        draw_modes(s);
    else if (s->view == VIEW_ENDPOINT)
        draw_endpoint(s);
    else
        draw_lines(s, &layout);
    if (s->message[0]) {
        attrset(A_BOLD);
        put(LINES - 1, s->message);
        attrset(A_NORMAL);
    }
    refresh();
}
