/* SPDX-License-Identifier: MIT
 *
 * The report as a page: the verdict, the cost of the stalls a day, the cure, a typical exchange as a ladder,
 * the distribution of the exchanges, the endpoints, the processes and the call sites.
 */
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "counters.h"
#include "format.h"
#include "ladder.h"
#include "page.h"
#include "report.h"
#include "report_facts.h"
#include "sites.h"
#include "stats_names.h"

enum { ROWS_SHOWN = 200, SITES_WIDTH = PROSE_ROOM }; /* the browser wraps lines */

/* ---- the verdict ----------------------------------------------------- */

static void bill(FILE *out, const struct report *r) {
    uint64_t lost = 0, stalls = 0, ran = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        lost += lost_ns(&r->rows[i].tally);
        stalls += proved_stalls(&r->rows[i].tally);
    }
    for (size_t i = 0; i < r->files->count; i++)
        if (ran_ns(r->files->list[i]) > ran)
            ran = ran_ns(r->files->list[i]);
    page_bill(out, stalls, lost, ran, "");
}

/* ---- pictures -------------------------------------------------------- */

enum { QUICK_MOST_NS = 20000000 }; /* half of a stall */

/* The exchange of the same endpoint in a mode that cured its stalls, if the files have one; else a
 * prediction. */
static void cured_figure(FILE *out, const struct reader_row *row, struct ladder l,
                         const uint64_t pieces[2], bool behind) {
    const struct reader_tally *t = &row->tally;
    char text[200] = "Predicted, with unstall: the pieces leave as one segment, at once.";
    char median[NAME_ROOM], count[NAME_ROOM];
    uint64_t quick[HISTOGRAM_BUCKETS] = {0}, n = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (histogram_lowest(i, HISTOGRAM_STEPS) < QUICK_MOST_NS)
            n += quick[i] = t->exchange[i];
    if (t->counter[COUNT_STALLS_CURED] && n) {
        uint64_t ns = reader_quantile(quick, HISTOGRAM_STEPS, 0.5);
        snprintf(text, sizeof(text),
                 "Measured, with unstall: %s stalls were cured; the median of the %s exchanges "
                 "that did not stall.",
                 count_text(t->counter[COUNT_STALLS_CURED], median), count_text(n, count));
        ladder_add(&l, LADDER_DATA, 0, 0);
        ladder_add(&l, row->id.role == ROLE_LISTENER ? LADDER_NEXT : LADDER_ANSWER, (int64_t)ns, 0);
    } else if (behind) {
        snprintf(text, sizeof(text), "Predicted, with unstall: the second message leaves at once, too.");
        ladder_add(&l, LADDER_DATA, 0, pieces[0]);
        ladder_add(&l, LADDER_DATA, 0, pieces[1]);
    } else {
        ladder_add(&l, LADDER_DATA, 0, pieces[0] && pieces[1] ? pieces[0] + pieces[1] : 0);
    }
    ladder_figure(out, &l, text);
}

/* The mean stall of the row, with the pieces of its pair of call sites that lost most. */
static void typical(FILE *out, const struct report *r, const struct reader_row *row, bool behind) {
    uint64_t pieces[2] = {0, 0};
    const struct reader_tally *t = &row->tally;
    char endpoint[ENDPOINT_ROOM];
    if (!proved_stalls(t))
        return;
    sites_pieces(r->files, &row->id, pieces);
    int64_t mean = (int64_t)(lost_ns(t) / proved_stalls(t));
    bool listener = row->id.role == ROLE_LISTENER;
    row_words(&row->id, endpoint);
    struct ladder stalled = {.writer = listener ? endpoint : "the program",
                             .peer = listener ? "a client" : endpoint};
    const struct ladder empty = stalled;
    ladder_add(&stalled, LADDER_DATA, 0, pieces[0]);
    ladder_add(&stalled, LADDER_HELD, 0, pieces[1]);
    ladder_add(&stalled, LADDER_ACK, mean, 0);
    ladder_add(&stalled, LADDER_DATA, mean, pieces[1]);
    page_heading(out, "A typical exchange");
    fputs("<div class=\"side ladders\">\n", out);
    ladder_figure(out, &stalled,
                  "From the means of the statistics: the time of a stall, and the sizes of the "
                  "pieces where they were kept.");
    cured_figure(out, row, empty, pieces, behind);
    fputs("</div>\n", out);
}

static void distribution(FILE *out, const struct reader_row *row) {
    static struct chart_bin bins[HISTOGRAM_BUCKETS];
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        double low = (double)histogram_lowest(i, HISTOGRAM_STEPS);
        double high =
            i + 1 < HISTOGRAM_BUCKETS ? (double)histogram_lowest(i + 1, HISTOGRAM_STEPS) : low * 2;
        bins[i] = (struct chart_bin){low > 0 ? low : 1, high, row->tally.exchange[i]};
    }
    page_heading(out, "How long an exchange takes");
    char endpoint[ENDPOINT_ROOM], caption[ENDPOINT_ROOM + 80];
    bool listener = row->id.role == ROLE_LISTENER;
    snprintf(caption, sizeof(caption), "%s %s%s", listener ? "At" : "With",
             row_words(&row->id, endpoint),
             listener ? ", with the peer's time until it sends again" : "");
    chart_distribution(out, bins, HISTOGRAM_BUCKETS, caption);
}

/* ---- tables ---------------------------------------------------------- */

static void number(FILE *out, uint64_t n) {
    char text[NAME_ROOM];
    page_number(out, count_text(n, text), (double)n);
}

static void time(FILE *out, uint64_t ns, bool known) {
    char text[NAME_ROOM];
    page_number(out, known ? time_text(ns, false, text) : "-", (double)ns);
}

static void endpoint(FILE *out, const struct reader_row *row, bool with_mode) {
    const struct reader_tally *t = &row->tally;
    char address[ENDPOINT_ROOM], text[ENDPOINT_ROOM + 40];
    bool answered = t->counter[COUNT_EXCHANGES] > 0;
    bool mode = with_mode || row->id.arm != 0xff, looked = is_looked_at(row);
    snprintf(text, sizeof(text), "%s %s%s%s", row->id.role == ROLE_LISTENER ? "at" : "to",
             row_words(&row->id, address), mode ? ", mode " : "", mode ? mode_name(row->id.mode) : "");
    page_row_begin(out);
    page_cell(out, text);
    number(out, t->counter[COUNT_EXCHANGES]);
    time(out, reader_quantile(t->exchange, HISTOGRAM_STEPS, 0.5), answered);
    time(out, reader_quantile(t->exchange, HISTOGRAM_STEPS, 0.99), answered);
    if (looked)
        number(out, proved_stalls(t));
    else
        page_number(out, "?", 0);
    number(out, t->counter[COUNT_STALLS_CURED]);
    if (looked)
        time(out, lost_ns(t), lost_ns(t) > 0);
    else
        page_number(out, "?", 0);
    page_row_end(out);
}

static void endpoints(FILE *out, const struct report *r) {
    static const char *const heads[] = {"endpoint", "exchanges", "median",    "p99",
                                        "stalls",   "cured",     "time lost", NULL};
    page_heading(out, "Endpoints");
    page_table_begin(out, "Endpoints", heads);
    size_t count;
    const struct reader_row **rows = report_rows(r, &count);
    for (size_t i = 0; rows && i < count && i < ROWS_SHOWN; i++)
        endpoint(out, rows[i], modes_differ(r));
    free(rows);
    page_table_end(out);
}

static void process(FILE *out, const struct reader_file *f) {
    char name[NAME_ROOM], text[NAME_ROOM + 32];
    uint64_t stalls = 0, lost = process_lost_ns(f), exchanges = 0;
    for (size_t i = 0; i < f->row_count; i++) {
        stalls += proved_stalls(&f->rows[i].tally);
        exchanges += f->rows[i].tally.counter[COUNT_EXCHANGES];
    }
    snprintf(text, sizeof(text), "%s (pid %u), %s",
             base_text(f->header.program, name, sizeof(name)), f->header.pid,
             mode_name(f->header.mode));
    page_row_begin(out);
    page_cell(out, text);
    time(out, ran_ns(f), ran_ns(f) > 0);
    number(out, exchanges);
    number(out, stalls);
    time(out, lost, lost > 0);
    page_row_end(out);
}

static int by_loss(const void *a, const void *b) {
    const struct reader_file *x = *(const struct reader_file *const *)a;
    const struct reader_file *y = *(const struct reader_file *const *)b;
    uint64_t lost = process_lost_ns(x), less = process_lost_ns(y);
    if (lost != less)
        return lost > less ? -1 : 1;
    return x->header.started_ns > y->header.started_ns;
}

static void processes(FILE *out, const struct stats_files *s) {
    static const char *const heads[] = {"process", "ran", "exchanges", "stalls", "time lost", NULL};
    page_heading(out, "Processes");
    page_table_begin(out, "Processes", heads);
    const struct reader_file **sorted = calloc(s->count + 1, sizeof(struct reader_file *));
    for (size_t i = 0; sorted && i < s->count; i++)
        sorted[i] = s->list[i];
    if (sorted)
        qsort(sorted, s->count, sizeof(struct reader_file *), by_loss);
    for (size_t i = 0; sorted && i < s->count && i < ROWS_SHOWN; i++)
        process(out, sorted[i]);
    free(sorted);
    page_table_end(out);
    if (s->count > ROWS_SHOWN)
        page_paragraph(out, "These are the heaviest 200; unstall report --json lists all.");
}

static void losses(FILE *out, const struct stats_files *s) {
    struct prose p[REPORT_LOSSES];
    unsigned count = report_losses(s, p);
    for (unsigned i = 0; i < count; i++)
        page_paragraph(out, p[i].text);
}

/* True if it does not name the lines of a script. */
static bool call_sites(FILE *out, const struct stats_files *s) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return false;
    bool unnamed = sites_text(memory, s, NULL, SITES_WIDTH);
    if (fclose(memory) == 0 && size)
        page_verbatim(out, text + strspn(text, "\n"));
    free(text);
    return unnamed;
}

static void who(FILE *out, const struct report *r, bool unnamed) {
    struct prose p = {.used = 0};
    report_who(&p, r, unnamed);
    if (p.used)
        page_paragraph(out, p.text);
}

static void what_to_do(FILE *out, const struct report *r, const struct verdict *v) {
    struct prose command = {.used = 0};
    if (report_next(&command, r, v)) {
        page_heading(out, "What to do");
        page_command(out, command.text);
        if (v->kind == VERDICT_STALLS && v->behind)
            page_paragraph(out, "In the source: set TCP_NODELAY. The message that waits is one write: there "
                                "are no pieces to join.");
        else if (v->kind == VERDICT_STALLS)
            page_paragraph(
                out,
                "In the source: send the pieces of a message by one call (a buffer, writev), or "
                "set TCP_CORK around them, or set TCP_NODELAY.");
    }
    who(out, r, call_sites(out, r->files));
}

void report_html(FILE *out, const struct report *r) {
    char title[PROGRAMS_ROOM];
    static struct verdict v;
    verdict_find(&v, r->files, r->rows, r->row_count, false);
    programs_text(r->files, v.kind == VERDICT_STALLS ? v.row : NULL, title);
    page_begin(out, title);
    page_verdict(out, v.sentence.text);
    for (unsigned i = 0; i < v.note_count; i++)
        page_paragraph(out, v.note[i].text);
    bill(out, r);
    what_to_do(out, r, &v);
    if (v.row && v.kind != VERDICT_NOTHING) {
        typical(out, r, v.row, v.behind);
        distribution(out, v.row);
    }
    endpoints(out, r);
    processes(out, r->files);
    losses(out, r->files);
    page_end(out);
}
