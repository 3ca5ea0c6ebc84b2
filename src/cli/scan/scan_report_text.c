/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "format.h"
#include "scan_report.h"
#include "sites.h"
#include "stats_names.h"
#include "terminal.h"

enum {
    WIDTH_MOST = 110,
    WIDTH_LEAST = 80,
    ROWS_SHOWN = 20,
    PROCESS_COLUMNS = 24,
    ENDPOINT_COLUMNS = 26,
    STALLS_COLUMNS = 18,
    NUMBER_COLUMNS = 10,
};

/* "nginx (812)", or the user where the process is not to be known. */
const char *scan_process_text(const struct scan_process *p, uint32_t uid, char *text, size_t size) {
    char name[SCAN_PROGRAM];
    if (p->pid)
        snprintf(text, size, "%.48s (%d)", safe_text(p->program, name, sizeof(name)), (int)p->pid);
    else
        snprintf(text, size, "a process of user %" PRIu32, uid);
    return text;
}

static const char *stalls_text(const struct scan_estimate *e, enum scan_kind kind, bool ascii,
                               char text[NAME_ROOM]) {
    if (kind == SCAN_EXACT)
        snprintf(text, NAME_ROOM, "%.0f", e->count);
    else
        snprintf(text, NAME_ROOM, "%.0f (%.0f%s%.0f)", e->count, floor(e->low), ascii ? "-" : "–",
                 ceil(e->high));
    return text;
}

static const char *receiver_text(const struct scan_row *r, char *text, size_t size) {
    if (r->peer.pid)
        return scan_process_text(&r->peer, 0, text, size);
    return r->peer_local ? "several, or not to be known" : "elsewhere";
}

void scan_report_head(struct prose *p, const struct scan_report *report, bool ascii) {
    const struct scan_result *r = report->result;
    char text[NAME_ROOM];
    prose_add(p, "Scanned %s for %s, source %s: ", report->scope,
              time_text(r->ended_ns - r->began_ns, ascii, text), scan_kind_name(r->kind));
    if (r->kind == SCAN_EXACT)
        prose_add(p, r->lost ? "not every stall was seen;" : "every stall was seen;");
    else
        prose_add(p, "numbers are estimates, intervals in parentheses;");
    if (r->sockets)
        prose_add(p, " %s sockets;", count_text(r->sockets, text));
    prose_add(p, " the scan used %.1f %% of a core.", 100 * r->share);
    if (r->kind == SCAN_SAMPLED && r->dumps)
        prose_add(p,
                  " All sockets were looked at every %s: a connection that stalls for a small part "
                  "of its time only may be missing.",
                  time_text(r->dump_every_ns, ascii, text));
    if (report->not_exact)
        prose_add(p, " Not exact: %s.", report->not_exact);
    if (r->lost)
        prose_add(p, " %" PRIu64 " events found no room: there were more stalls than these.",
                  r->lost);
}

static void stalls(struct prose *p, const struct scan_report *report, bool ascii) {
    const struct scan_estimate *all = &report->table->all;
    const struct scan_row *worst = &report->table->rows[0];
    uint64_t n = report->verdict->stalls;
    char number[NAME_ROOM], each[NAME_ROOM], lost[NAME_ROOM], whole[NAME_ROOM];
    char who[ENDPOINT_ROOM + NAME_ROOM], address[ENDPOINT_ROOM];
    prose_add(p, "%s%s stall%s of %s cost %s in %s", report->result->kind == SCAN_EXACT ? "" : "About ",
              count_text(n, number), n == 1 ? "" : "s",
              time_text((uint64_t)(all->lost_ns / all->count), ascii, each),
              time_text((uint64_t)all->lost_ns, ascii, lost),
              time_text(report->result->ended_ns - report->result->began_ns, ascii, whole));
    prose_add(p, ", %s of it %s %s %s", report->table->count - report->table->one_way > 1 ? "most" : "all",
              scan_process_text(&worst->process, worst->uid, who, sizeof(who)), worst->listens ? "at" : "to",
              address_text(&worst->endpoint, address));
}

void scan_sentence(struct prose *p, const struct scan_report *report, bool ascii) {
    if (report->verdict->stalls)
        stalls(p, report, ascii);
    verdict_words(p, report->verdict, report->verdict->exchanges ? "" : " on connections that lasted");
    prose_add(p, ".");
}

const char *scan_note(const struct scan_report *report) {
    return report->verdict->stalls
               ? NULL
               : "A stall is seen at its sender only: where the sender is elsewhere, scan there.";
}

static void head(FILE *out, const struct scan_report *report, bool ascii) {
    struct prose p = {.used = 0};
    scan_report_head(&p, report, ascii);
    prose_print(out, &p, 0, terminal_width_within(out, WIDTH_LEAST, WIDTH_MOST));
    fputc('\n', out);
    p.used = 0;
    scan_sentence(&p, report, ascii);
    fputs(colour(out, BOLD), out);
    prose_print(out, &p, 0, terminal_width_within(out, WIDTH_LEAST, WIDTH_MOST));
    fputs(colour(out, PLAIN), out);
    if (scan_note(report))
        print_wrapped(out, scan_note(report), 0, 0, terminal_width_within(out, WIDTH_LEAST, WIDTH_MOST));
}

/* The columns that a terminal has no room for are left out, the least important first.  A pipe gets all. */
struct columns {
    bool each, a_second, receiver;
};

static struct columns shown_columns(FILE *out) {
    enum {
        LEAST = PROCESS_COLUMNS + ENDPOINT_COLUMNS + STALLS_COLUMNS + NUMBER_COLUMNS,
        RECEIVER_COLUMNS = 26,
    };
    int room = isatty(fileno(out)) ? terminal_width(out) - LEAST : INT_MAX;
    return (struct columns){
        .each = room >= NUMBER_COLUMNS,
        .a_second = room >= 2 * NUMBER_COLUMNS,
        .receiver = room >= 2 * NUMBER_COLUMNS + RECEIVER_COLUMNS,
    };
}

static void heading(FILE *out, struct columns columns) {
    fputs(colour(out, BOLD), out);
    print_left(out, "sender", PROCESS_COLUMNS);
    print_left(out, " endpoint", ENDPOINT_COLUMNS);
    print_right(out, "stalls", STALLS_COLUMNS);
    if (columns.a_second)
        print_right(out, "a second", NUMBER_COLUMNS);
    print_right(out, "lost", NUMBER_COLUMNS);
    if (columns.each)
        print_right(out, "each", NUMBER_COLUMNS);
    fputs(colour(out, PLAIN), out);
    fputs(columns.receiver ? "  receiver\n" : "\n", out);
}

static void row(FILE *out, struct columns columns, const struct scan_row *r, const struct scan_result *result,
                bool ascii) {
    char text[ENDPOINT_ROOM + NAME_ROOM], address[ENDPOINT_ROOM];
    double seconds = (double)(result->ended_ns - result->began_ns) / 1e9;
    const struct scan_estimate *e = &r->stalls;
    print_left(out, scan_process_text(&r->process, r->uid, text, sizeof(text)), PROCESS_COLUMNS);
    snprintf(text, sizeof(text), " %s %s", r->listens ? "at" : "to",
             address_text(&r->endpoint, address));
    print_left(out, text, ENDPOINT_COLUMNS);
    print_right(out, stalls_text(e, result->kind, ascii, text), STALLS_COLUMNS);
    snprintf(text, sizeof(text), "%.1f", e->count / seconds);
    if (columns.a_second)
        print_right(out, text, NUMBER_COLUMNS);
    print_right(out, time_text((uint64_t)e->lost_ns, ascii, text), NUMBER_COLUMNS);
    if (columns.each)
        print_right(out, time_text((uint64_t)(e->lost_ns / e->count), ascii, text), NUMBER_COLUMNS);
    if (columns.receiver)
        fprintf(out, "  %s", receiver_text(r, text, sizeof(text)));
    if (columns.receiver && r->process.container[0])
        fprintf(out, "  [container %s]", r->process.container);
    else if (columns.receiver && r->process.unit[0])
        fprintf(out, "  [%s]", safe_text(r->process.unit, text, sizeof(text)));
    fputc('\n', out);
}

static void table(FILE *out, const struct scan_report *report, bool one_way, bool ascii) {
    const struct scan_table *t = report->table;
    const struct columns columns = shown_columns(out);
    size_t shown = 0, more = 0;
    heading(out, columns);
    for (size_t i = 0; i < t->count; i++) {
        if (t->rows[i].one_way != one_way)
            continue;
        if (shown < ROWS_SHOWN)
            row(out, columns, &t->rows[i], report->result, ascii);
        else
            more++;
        shown++;
    }
    if (more)
        fprintf(out, "... and %zu more (--json lists all)\n", more);
}

/* The next command to type, for the heaviest row. */
static void next(FILE *out, const struct scan_table *t) {
    const struct scan_row *r = &t->rows[0];
    struct prose p = {.used = 0};
    if (r->process.pid)
        prose_add(&p, "Next: unstall doctor %d", (int)r->process.pid);
    else
        prose_add(&p, "Next: the same as root, which may see the processes of all users");
    fputc('\n', out);
    prose_print(out, &p, 0, terminal_width_within(out, WIDTH_LEAST, WIDTH_MOST));
}

void scan_report_text(FILE *out, const struct scan_report *report) {
    const struct scan_table *t = report->table;
    bool ascii = !speaks_utf8();
    size_t stalling = t->count - t->one_way;
    head(out, report, ascii);
    if (stalling) {
        fputc('\n', out);
        table(out, report, false, ascii);
    }
    if (t->one_way) {
        fputs("\nStreams of small writes without an answer, which Nagle's algorithm buffers on "
              "purpose:\n\n",
              out);
        table(out, report, true, ascii);
    }
    if (report->places)
        sites_text(out, report->places, NULL, terminal_width_within(out, WIDTH_LEAST, WIDTH_MOST));
    if (stalling)
        next(out, t);
}
