/* SPDX-License-Identifier: MIT
 *
 * The report for people: the processes, the verdict, a table by endpoint, a histogram, the call sites, and
 * the next command to type.
 */
#include <string.h>

#include "array.h"
#include "bars.h"
#include "closing.h"
#include "format.h"
#include "grid.h"
#include "report_facts.h"
#include "stats_names.h"
#include "terminal.h"

enum { WIDTH_MOST = 100, WIDTH_LEAST = 60, PROSE_LEAST = 40, ENDPOINT_COLUMNS = 22, ROWS_SHOWN = 16 };

/* ---- processes ------------------------------------------------------- */

static void print_process(FILE *out, const struct reader_file *r, uint64_t watched_ns, bool ascii) {
    char name[64], text[NAME_ROOM], safe[NAME_ROOM];
    base_text(r->header.program, name, sizeof(name));
    fprintf(out, "%s (pid %u), mode %s, ", name, r->header.pid, mode_name(r->header.mode));
    const char *ran = time_text(ran_ns(r), ascii, text);
    switch (r->life) {
    case LIFE_RUNS: fprintf(out, "running for %s", ran); break;
    case LIFE_ENDED: fprintf(out, "ended after %s", ran); break;
    case LIFE_KILLED:
        fprintf(out, "started %s, killed", date_text(r->header.started_ns, text));
        break;
    case LIFE_UNKNOWN: fprintf(out, "started %s", date_text(r->header.started_ns, text)); break;
    }
    if (watched_ns)
        fprintf(out, ", watched for %s", time_text(watched_ns, ascii, text));
    if (strcmp(r->header.library, UNSTALL_VERSION) != 0)
        fprintf(out, ", library %s", safe_text(r->header.library, safe, sizeof(safe)));
    fputc('\n', out);
}

static void print_processes(FILE *out, const struct stats_files *s, bool ascii) {
    enum { SHOWN = 12 };
    for (size_t i = 0; i < s->count && i < SHOWN; i++)
        print_process(out, s->list[i], s->watched_ns, ascii);
    if (s->count > SHOWN)
        fprintf(out, "... and %zu more processes\n", s->count - SHOWN);
    if (s->count)
        fputc('\n', out);
}

/* ---- the table ------------------------------------------------------- */

static const struct grid_column columns[] = {
    {"endpoint", ENDPOINT_COLUMNS, true, 0}, {"exchanges", 10, false, 0}, {"median", 9, false, 2},
    {"p99", 9, false, 4},                    {"stalls", 7, false, 0},     {"susp.", 6, false, 3},
    {"cured", 7, false, 1},                  {"time lost", 10, false, 0},
};

static const char *endpoint_text(const struct stats_row *id, bool with_mode, char *text, size_t size) {
    char address[ENDPOINT_ROOM];
    row_text(id, address);
    const char *way = !id->endpoint.family           ? ""
                      : id->role == ROLE_LISTENER    ? "at "
                      : id->role == ROLE_DESTINATION ? "to "
                                                     : "with ";
    if (id->arm == 0xff)
        snprintf(text, size, "%s%s%s%s", way, address, with_mode ? " " : "",
                 with_mode ? mode_name(id->mode) : "");
    else
        snprintf(text, size, "%s%s #%u %s", way, address, id->arm, mode_name(id->mode));
    return text;
}

static void print_row(FILE *out, const struct grid *g, const struct reader_row *row, bool with_mode,
                      bool ascii) {
    char endpoint[ENDPOINT_ROOM + 32], text[6][NAME_ROOM], whole[NAME_ROOM + 4];
    const struct reader_tally *t = &row->tally;
    bool answered = t->counter[COUNT_EXCHANGES] > 0, looked = is_looked_at(row);
    uint64_t lost = lost_ns(t), median = reader_quantile(t->exchange, HISTOGRAM_STEPS, 0.5),
             p99 = reader_quantile(t->exchange, HISTOGRAM_STEPS, 0.99);
    snprintf(whole, sizeof(whole), "%s%s", t->counter[COUNT_STALLS_BOUND] ? ascii ? "<=" : "≤" : "",
             lost     ? time_text(lost, ascii, text[0])
             : looked ? "-"
                      : "?");
    grid_line(out, g,
              (const char *[]){
                  endpoint_text(&row->id, with_mode, endpoint, sizeof(endpoint)),
                  short_count_text(t->counter[COUNT_EXCHANGES], 10, text[0]),
                  answered ? time_text(median, ascii, text[1]) : "-",
                  answered ? time_text(p99, ascii, text[2]) : "-",
                  looked ? short_count_text(proved_stalls(t), 7, text[3]) : "?",
                  looked ? short_count_text(t->counter[COUNT_STALLS_SUSPECTED], 6, text[4]) : "?",
                  short_count_text(t->counter[COUNT_STALLS_CURED], 7, text[5]),
                  whole,
              });
}

static int by_loss(const void *a, const void *b) {
    const struct reader_row *x = *(const struct reader_row *const *)a;
    const struct reader_row *y = *(const struct reader_row *const *)b;
    if (lost_ns(&x->tally) != lost_ns(&y->tally))
        return lost_ns(&x->tally) > lost_ns(&y->tally) ? -1 : 1;
    uint64_t n = x->tally.counter[COUNT_EXCHANGES], m = y->tally.counter[COUNT_EXCHANGES];
    if (n != m)
        return n > m ? -1 : 1;
    return x < y ? -1 : x > y; /* keep the order */
}

/* The rows with any counts, sorted by the time lost, largest first.  The caller frees the list.
 * NULL: no memory. */
static const struct reader_row **sorted_rows(const struct report *r, size_t *count) {
    const struct reader_row **rows = calloc(r->row_count + 1, sizeof(struct reader_row *));
    *count = 0;
    for (size_t i = 0; rows && i < r->row_count; i++)
        if (is_used(&r->rows[i]))
            rows[(*count)++] = &r->rows[i];
    if (rows)
        qsort(rows, *count, sizeof(struct reader_row *), by_loss);
    return rows;
}

static void print_table(FILE *out, const struct report *r, bool ascii) {
    const struct grid g = grid_fit(columns, ARRAY_SIZE(columns),
                                   terminal_width_within(out, WIDTH_LEAST, WIDTH_MOST));
    size_t count;
    FREED const struct reader_row **rows = sorted_rows(r, &count);
    uint64_t bounds = 0;
    bool modes = modes_differ(r), unknown = false;
    char text[NAME_ROOM];
    if (!rows)
        return;
    for (size_t i = 0; i < count; i++) {
        bounds += rows[i]->tally.counter[COUNT_STALLS_BOUND];
        unknown |= i < ROWS_SHOWN && !is_looked_at(rows[i]);
    }
    fputc('\n', out);
    grid_heading(out, &g);
    for (size_t i = 0; i < count && i < ROWS_SHOWN; i++)
        print_row(out, &g, rows[i], modes, ascii);
    if (count > ROWS_SHOWN)
        fprintf(out, "... and %zu more (--json lists all)\n", count - ROWS_SHOWN);
    if (bounds)
        fprintf(out, "%s an upper bound: for %s only the next request was seen\n",
                ascii ? "<=" : "≤", some_text(bounds, "stall", text));
    if (modes)
        fputs("The mode is that in which a connection began.\n", out);
    if (unknown)
        fputs("? stalls are not looked for in mode off\n", out);
}

static void print_picture(FILE *out, const struct report *r, unsigned width, bool ascii) {
    const struct reader_row *row = r->verdict->row;
    char text[ENDPOINT_ROOM], mode[NAME_ROOM] = "";
    if (!row || !row->tally.counter[COUNT_EXCHANGES])
        return;
    if (modes_differ(r))
        snprintf(mode, sizeof(mode), " in mode %s", mode_name(row->id.mode));
    fprintf(out, "\n%sExchanges %s %s%s%s%s\n", colour(out, BOLD),
            row->id.role == ROLE_LISTENER ? "at" : "with", row_text(&row->id, text), mode,
            row->id.role == ROLE_LISTENER ? ", with the peer's time until it sends again" : "",
            colour(out, PLAIN));
    bars_print(out, row->tally.exchange, width, ascii);
}

static void print_next(FILE *out, const struct report *r, const struct report_verdict *v) {
    struct prose p = {.used = 0}, set = {.used = 0};
    if (!report_next(&p, r, v))
        return;
    const struct reader_file *first = r->files->list[0];
    const char *why = v->found == FOUND_CURED ? "To measure what that is worth" : "Next";
    fprintf(out, "\n%s%s:%s %s\n", colour(out, BOLD), why, colour(out, PLAIN), p.text);
    if (v->found == FOUND_STALLS && !stats_mode_cures(first->header.mode) && r->files->count == 1 &&
        first->life == LIFE_RUNS && !r->argv) {
        report_set(&set, first, "auto");
        if (strcmp(set.text, p.text) != 0)
            fprintf(out, "  or, as it runs: %s\n", set.text);
    }
}

/* ---- all ------------------------------------------------------------- */

static void print_verdict(FILE *out, const struct report_verdict *v, unsigned width) {
    static const enum colour colours[] = {
        [VERDICT_STALLS] = RED,
        [VERDICT_NONE] = GREEN,
        [VERDICT_TOO_FEW] = YELLOW,
        [VERDICT_CANNOT_TELL] = YELLOW,
    };
    fprintf(out, "%s%s", colour(out, BOLD), colour(out, colours[verdict_of(&v->is)]));
    prose_print(out, &v->sentence, 0, width);
    fputs(colour(out, PLAIN), out);
    for (unsigned i = 0; i < v->note_count; i++)
        prose_print(out, &v->note[i], 0, width);
}

static void print_losses(FILE *out, const struct stats_files *s) {
    struct prose p[REPORT_LOSSES];
    unsigned count = report_losses(s, p);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "\n%s\n", p[i].text);
}

static void print_who(FILE *out, const struct report *r, unsigned width, bool unnamed) {
    struct prose p = {.used = 0};
    report_who(&p, r, unnamed);
    if (!p.used)
        return;
    fputc('\n', out);
    prose_print(out, &p, 0, width);
}

void report_text(FILE *out, const struct report *r) {
    const struct report_verdict *v = r->verdict;
    bool ascii = !speaks_utf8();
    unsigned width = terminal_width_within(out, PROSE_LEAST, WIDTH_MOST);
    print_processes(out, r->files, ascii);
    print_verdict(out, v, width);
    if (v->found != FOUND_NOTHING) {
        print_table(out, r, ascii);
        print_picture(out, r, width, ascii);
        bool unnamed = sites_text(out, r->files, NULL, width);
        print_who(out, r, width, unnamed);
    }
    print_losses(out, r->files);
    print_next(out, r, v);
}
