/* SPDX-License-Identifier: MIT */
#include "top_frame.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "closing.h"
#include "errors.h"
#include "format.h"
#include "prose.h"
#include "stats_names.h"

/* ---- the last looks --------------------------------------------------- */

void past_follow(uint64_t now[PAST_LOOKS], const uint64_t *before, uint64_t median) {
    memset(now, 0, PAST_LOOKS * sizeof(*now));
    if (before)
        memcpy(now, before + 1, (PAST_LOOKS - 1) * sizeof(*now));
    now[PAST_LOOKS - 1] = median;
}

enum { LEVELS = 8 };

static unsigned level(uint64_t ns) {
    double share = (log10((double)ns) - 4) / 5; /* 10 µs to 1 s */
    double height = share * LEVELS;
    return height <= 0 ? 0 : height >= LEVELS ? LEVELS - 1 : (unsigned)height;
}

const char *past_text(const uint64_t past[PAST_LOOKS], bool ascii, char text[PAST_TEXT]) {
    static const char *const blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    char *end = text;
    *end = '\0';
    for (size_t i = 0; i < PAST_LOOKS; i++) {
        uint64_t ns = past[i];
        if (!ns)
            *end++ = ' ';
        else if (ascii)
            *end++ = (char)('0' + level(ns));
        else
            end = stpcpy(end, blocks[level(ns)]);
        *end = '\0';
    }
    return text;
}

/* ---- snapshots -------------------------------------------------------- */

static const struct reader_file *same_process(const struct stats_files *s,
                                              const struct reader_file *r) {
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i]->device == r->device && s->list[i]->inode == r->inode)
            return s->list[i];
    return NULL;
}

static bool is_there(const struct reader_file *r) {
    return r->life == LIFE_RUNS || r->life == LIFE_UNKNOWN;
}

static void add_lines(struct top *t, const struct reader_file *r,
                      const struct reader_file *before) {
    for (size_t i = 0; i < r->row_count; i++) {
        const struct reader_row *row = &r->rows[i],
                                *old = before ? reader_row_at(before, row->index) : NULL;
        if (!is_used(row))
            continue;
        struct top_line *line = &t->lines[t->all++];
        line->process = r;
        line->id = row->id;
        line->row = row->index;
        line->since = row->tally;
        if (old)
            reader_subtract(&line->since, &old->tally);
        line->median = reader_quantile(line->since.exchange, HISTOGRAM_STEPS, 0.5);
        line->p99 = reader_quantile(line->since.exchange, HISTOGRAM_STEPS, 0.99);
    }
}

/* The mode to show: that of the process or, where an endpoint has lines of several modes, that in which the
 * connections of this one began. */
static unsigned mode_of(const struct top *t, const struct top_line *line) {
    for (size_t i = 0; i < t->all && line->id.arm == 0xff; i++) {
        const struct top_line *other = &t->lines[i];
        if (other != line && other->process == line->process && other->id.arm == 0xff &&
            other->id.role == line->id.role &&
            memcmp(&other->id.endpoint, &line->id.endpoint, sizeof(line->id.endpoint)) == 0)
            return line->id.mode;
    }
    return line->id.arm == 0xff ? line->process->header.mode : line->id.mode;
}

/* The past of a line: `before` has the lines of the last look, whose files are still there. */
static void follow(struct top_line *line, const struct top_line *before, size_t count) {
    const uint64_t *past = NULL;
    for (size_t i = 0; i < count && !past; i++)
        if (before[i].row == line->row && before[i].process->device == line->process->device &&
            before[i].process->inode == line->process->inode)
            past = before[i].past;
    past_follow(line->past, past, line->since.counter[COUNT_EXCHANGES] ? line->median : 0);
}

static uint64_t time_of(const struct stats_files *s) {
    return s->count ? s->list[0]->taken_ns : 0;
}

int top_look(struct top *t) {
    struct stats_files next;
    int failed = stats_files_open(&next, t->watched, READ_ROWS, true);
    if (failed)
        return failed;
    struct stats_files *old = &t->looks[t->now];
    t->now = !t->now;
    stats_files_close(&t->looks[t->now]);
    t->looks[t->now] = next;
    t->seconds = time_of(old) && time_of(&next) > time_of(old)
                     ? (double)(time_of(&next) - time_of(old)) / 1e9
                     : 0;
    FREED struct top_line *before = t->lines;
    size_t most = 1, before_count = t->all;
    for (size_t i = 0; i < next.count; i++)
        most += next.list[i]->row_count;
    t->count = t->all = 0;
    t->runs = t->ended = 0;
    t->lines = calloc(most, sizeof(*t->lines));
    if (!t->lines)
        return complain("%s", strerror(ENOMEM));
    for (size_t i = 0; i < next.count; i++) {
        t->ended += !is_there(next.list[i]);
        t->runs += is_there(next.list[i]);
        if (is_there(next.list[i]))
            add_lines(t, next.list[i], same_process(old, next.list[i]));
    }
    for (size_t i = 0; i < t->all; i++) {
        t->lines[i].mode = mode_of(t, &t->lines[i]);
        follow(&t->lines[i], before, before_count);
    }
    top_sort(t);
    return 0;
}

void top_end(struct top *t) {
    stats_files_close(&t->looks[0]);
    stats_files_close(&t->looks[1]);
    free(t->lines);
    t->lines = NULL;
    t->count = t->all = 0;
}

/* ---- sorting ---------------------------------------------------------- */

static int number(uint64_t a, uint64_t b) {
    return a > b ? -1 : a < b; /* the greatest first */
}

static int counters(const struct top_line *a, const struct top_line *b, unsigned which) {
    return number(a->since.counter[which], b->since.counter[which]);
}

static int by_name(const struct top_line *a, const struct top_line *b) {
    char x[ENDPOINT_ROOM], y[ENDPOINT_ROOM];
    return strcmp(row_text(&a->id, x), row_text(&b->id, y));
}

static int by_order(const struct top_line *a, const struct top_line *b, enum top_order order) {
    switch (order) {
    case TOP_BY_STALLS: return number(proved_stalls(&a->since), proved_stalls(&b->since));
    case TOP_BY_EXCHANGES: return counters(a, b, COUNT_EXCHANGES);
    case TOP_BY_MEDIAN: return number(a->median, b->median);
    case TOP_BY_P99: return number(a->p99, b->p99);
    case TOP_BY_CURED: return counters(a, b, COUNT_STALLS_CURED);
    case TOP_BY_PID: return -number(a->process->header.pid, b->process->header.pid);
    case TOP_BY_ENDPOINT: return by_name(a, b);
    default: return 0;
    }
}

static int compare(const void *a, const void *b, void *context) {
    const struct top *t = context;
    const struct top_line *x = a, *y = b;
    int order = by_order(x, y, t->order);
    if (order)
        return t->reversed ? -order : order;
    /* equal lines must not change places from frame to frame */
    if ((order = counters(x, y, COUNT_EXCHANGES)) != 0)
        return order;
    if ((order = by_order(x, y, TOP_BY_PID)) != 0)
        return order;
    return memcmp(&x->id, &y->id, sizeof(x->id));
}

/* Upper and lower case are the same. */
static bool passes(const struct top *t, const struct top_line *line) {
    char program[NAME_ROOM], address[ENDPOINT_ROOM], text[2 * NAME_ROOM + ENDPOINT_ROOM];
    const struct reader_file *r = line->process;
    if (!t->filter[0])
        return true;
    snprintf(text, sizeof(text), "%u %s %s %s", r->header.pid,
             base_text(r->header.program, program, sizeof(program)), row_text(&line->id, address),
             mode_name(line->mode));
    return strcasestr(text, t->filter) != NULL;
}

/* Lines that pass come first, so that the others are still there when the filter changes. */
static void filter(struct top *t) {
    t->count = 0;
    for (size_t i = 0; i < t->all; i++) {
        struct top_line line = t->lines[i];
        if (!passes(t, &line))
            continue;
        t->lines[i] = t->lines[t->count];
        t->lines[t->count++] = line;
    }
}

void top_sort(struct top *t) {
    filter(t);
    if (t->count)
        qsort_r(t->lines, t->count, sizeof(*t->lines), compare, t);
}

const char *top_order_name(enum top_order order) {
    static const char *const names[TOP_ORDERS] = {
        [TOP_BY_STALLS] = "stalls",     [TOP_BY_EXCHANGES] = "exchanges",
        [TOP_BY_MEDIAN] = "median",     [TOP_BY_P99] = "p99",
        [TOP_BY_CURED] = "cured",       [TOP_BY_PID] = "pid",
        [TOP_BY_ENDPOINT] = "endpoint",
    };
    return names[order];
}

/* ---- text ------------------------------------------------------------- */

/* Moves at most `most` columns from `extra` to a column. */
static void widen(struct top_layout *l, unsigned which, unsigned most, unsigned *extra) {
    unsigned taken = !l->grid.shown[which] ? 0 : *extra < most ? *extra : most;
    *extra -= taken;
    l->columns[which].width += taken;
}

/* The width of the process ids and names that are shown. */
static void fit(struct top_layout *l, const struct top *t) {
    enum { PROGRAM_USUAL = 11 };
    unsigned *pid = &l->columns[TOP_PID].width, *program = &l->columns[TOP_PROGRAM].width;
    char word[ENDPOINT_ROOM];
    for (size_t i = 0; i < t->count; i++) {
        const struct stats_header *h = &t->lines[i].process->header;
        unsigned name = (unsigned)strlen(base_text(h->program, word, sizeof(word))) + 1;
        unsigned digits = (unsigned)snprintf(word, sizeof(word), "%u", h->pid);
        *pid = digits > *pid ? digits : *pid;
        name = name < PROGRAM_USUAL ? name : PROGRAM_USUAL;
        *program = name > *program ? name : *program;
    }
}

/* Stalls and cures always stay.  A wide terminal has room for the last exchange times, for names of programs
 * and for any address.  What is left stays empty at the right: so the eye can follow a line. */
void top_lay_out(struct top_layout *l, const struct top *t, unsigned width, bool ascii) {
    enum { ADDRESS = sizeof("at [2001:db8:1111:2222:3333:4444:5555:6666]:65535") };
    *l = (struct top_layout){.width = width, .ascii = ascii, .columns = {
        {"PID", 5, false, 0},    {"PROGRAM", 8, true, 1}, {"ENDPOINT", 18, true, 0},
        {"MODE", 9, true, 4},    {"EXCH/S", 6, false, 2}, {"MEDIAN", 8, false, 3},
        {"P99", 8, false, 5},    {"STALL/S", 8, false, 0}, {"CURED", 6, false, 0},
        {"EXCHANGE TIME", 16, true, 6},
    }};
    fit(l, t);
    l->grid = grid_fit(l->columns, TOP_COLUMNS, width);
    unsigned used = grid_width(&l->grid), extra = width > used ? width - used : 0;
    widen(l, TOP_PAST, PAST_LOOKS + 1 - l->columns[TOP_PAST].width, &extra);
    widen(l, TOP_PROGRAM, 7, &extra);
    widen(l, TOP_ENDPOINT, ADDRESS - l->columns[TOP_ENDPOINT].width, &extra);
    widen(l, TOP_PROGRAM, 8, &extra);
}

/* Cuts a text to what its column shows. */
static const char *cut(const struct top_layout *l, unsigned which, char *text) {
    size_t room = l->columns[which].width - 1;
    if (strlen(text) > room)
        text[room] = '\0';
    return text;
}

/* So many a second, in less than `columns`. */
static const char *rate(const struct top *t, uint64_t n, unsigned columns, char text[NAME_ROOM]) {
    double value = t->seconds > 0 ? (double)n / t->seconds : 0;
    if (t->seconds <= 0)
        snprintf(text, NAME_ROOM, "-");
    else if (value > 0 && value < 9.95)
        snprintf(text, NAME_ROOM, "%.1f", value);
    else
        short_count_text((uint64_t)(value + 0.5), columns, text);
    return text;
}

static const char *time_cell(const struct top_line *line, uint64_t ns, bool ascii, char text[NAME_ROOM]) {
    return line->since.counter[COUNT_EXCHANGES] ? time_text(ns, ascii, text) : "-";
}

/* A line is written by the functions of streams and then cut to the width. */
static FILE *open_line(char text[TOP_LINE]) {
    memset(text, 0, TOP_LINE);
    return fmemopen(text, TOP_LINE - 1, "w");
}

static void close_line(FILE *out, char text[TOP_LINE], unsigned width) {
    if (out)
        fclose(out);
    text[strcspn(text, "\n")] = '\0';
    size_t columns = 0;
    for (char *c = text; *c; c++)
        if (((unsigned char)*c & 0xc0) != 0x80 && ++columns > width) {
            *c = '\0';
            return;
        }
}

/* Shortens an address but keeps its port: "2001:db8:1~]:65535". */
static void shorten(char *address, size_t columns) {
    size_t length = strlen(address);
    char *colon = strrchr(address, ':');
    if (length <= columns || !colon)
        return;
    char *tail = colon > address && colon[-1] == ']' ? colon - 1 : colon;
    size_t kept = strlen(tail);
    if (kept + 1 >= columns)
        return;
    address[columns - kept - 1] = '~';
    memmove(address + columns - kept, tail, kept + 1);
}

/* The last columns of a text. */
static const char *last_columns(const char *text, size_t columns) {
    for (size_t n = columns_of(text); n > columns; n--)
        do
            text++;
        while (((unsigned char)*text & 0xc0) == 0x80);
    return text;
}

void top_heading(const struct top_layout *l, char text[TOP_LINE]) {
    FILE *out = open_line(text);
    if (out)
        grid_heading(out, &l->grid);
    close_line(out, text, l->width);
}

void top_text(const struct top *t, size_t n, const struct top_layout *l, char text[TOP_LINE]) {
    const struct top_line *line = &t->lines[n];
    const uint64_t *since = line->since.counter;
    char pid[16], program[ENDPOINT_ROOM], address[ENDPOINT_ROOM], endpoint[ENDPOINT_ROOM + 16], mode[32];
    char median[NAME_ROOM], p99[NAME_ROOM], past[PAST_TEXT], rates[3][NAME_ROOM];
    FILE *out = open_line(text);
    snprintf(pid, sizeof(pid), "%u", line->process->header.pid);
    base_text(line->process->header.program, program, sizeof(program));
    snprintf(endpoint, sizeof(endpoint), "%s%s", line->id.role == ROLE_LISTENER ? "at " : "",
             row_text(&line->id, address));
    shorten(endpoint, l->columns[TOP_ENDPOINT].width - 1);
    snprintf(mode, sizeof(mode), line->id.arm == 0xff ? "%s" : "%s#%u", mode_name(line->mode), line->id.arm);
    bool unknown = line->mode == STATS_MODE_OFF && !proved_stalls(&line->since);
    const struct grid_column *columns = l->columns;
    const char *const cells[TOP_COLUMNS] = {
        [TOP_PID] = pid,
        [TOP_PROGRAM] = cut(l, TOP_PROGRAM, program),
        [TOP_ENDPOINT] = cut(l, TOP_ENDPOINT, endpoint),
        [TOP_MODE] = cut(l, TOP_MODE, mode),
        [TOP_RATE] = rate(t, since[COUNT_EXCHANGES], columns[TOP_RATE].width, rates[0]),
        [TOP_MEDIAN] = time_cell(line, line->median, l->ascii, median),
        [TOP_P99] = time_cell(line, line->p99, l->ascii, p99),
        [TOP_STALLS] =
            unknown ? "?" : rate(t, proved_stalls(&line->since), columns[TOP_STALLS].width, rates[1]),
        [TOP_CURED] = rate(t, since[COUNT_STALLS_CURED], columns[TOP_CURED].width, rates[2]),
        [TOP_PAST] =
            last_columns(past_text(line->past, l->ascii, past), columns[TOP_PAST].width - 1),
    };
    if (out)
        grid_line(out, &l->grid, cells);
    close_line(out, text, l->width);
}

void top_summary(const struct top *t, const struct top_layout *l, char text[TOP_LINE]) {
    char lost[NAME_ROOM], each[2][NAME_ROOM];
    uint64_t exchanges = 0, stalls = 0, lost_time = 0;
    for (size_t i = 0; i < t->count; i++) {
        const uint64_t *c = t->lines[i].since.counter;
        exchanges += c[COUNT_EXCHANGES];
        stalls += proved_stalls(&t->lines[i].since);
        lost_time += lost_ns(&t->lines[i].since);
    }
    char running[64], within[32];
    snprintf(running, sizeof(running), "%u running, %u ended; ", t->runs, t->ended);
    snprintf(within, sizeof(within), " in %.1f s", t->seconds);
    time_text(lost_time, l->ascii, lost);
    rate(t, exchanges, 6, each[0]);
    rate(t, stalls, 6, each[1]);
    for (int part = 0; part < 3; part++) { /* what is left out first where there is no room */
        if (t->seconds > 0)
            snprintf(text, TOP_LINE, "%s%s %s/s, %s stalls/s, %s lost%s", part ? "" : running, each[0],
                     part < 2 ? "exchanges" : "exch", each[1], lost, part < 2 ? within : "");
        else
            snprintf(text, TOP_LINE, "%slooking ...", running);
        if (columns_of(text) <= l->width)
            return;
    }
    close_line(NULL, text, l->width);
}
