/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "page.h"
#include "scan_report.h"
#include "sites.h"
#include "stats_names.h"

enum { ROWS_SHOWN = 200, SITES_WIDTH = PROSE_ROOM }; /* the browser wraps lines */

static double seconds_of_scan(const struct scan_report *report) {
    return (double)(report->result->ended_ns - report->result->began_ns) / 1e9;
}

static void row(FILE *out, const struct scan_row *r, const struct scan_report *report) {
    char text[ENDPOINT_ROOM + NAME_ROOM], address[ENDPOINT_ROOM];
    const struct scan_estimate *e = &r->stalls;
    const struct scan_process *p = &r->process;
    double rate = e->count / seconds_of_scan(report);
    page_row_begin(out);
    page_cell(out, scan_process_text(p, r->uid, text, sizeof(text)));
    snprintf(text, sizeof(text), "%s %s", r->listens ? "at" : "to", address_text(&r->endpoint, address));
    page_cell(out, text);
    page_number(out, scan_stalls_text(e, report->result->kind, false, text), e->count);
    snprintf(text, sizeof(text), "%.1f", rate);
    page_number(out, text, rate);
    page_number(out, time_text((uint64_t)e->lost_ns, false, text), e->lost_ns);
    page_number(out, time_text((uint64_t)(e->lost_ns / e->count), false, text), e->lost_ns / e->count);
    page_cell(out, scan_receiver_text(r, text, sizeof(text)));
    page_cell(out, p->container[0] ? p->container : p->unit);
    page_row_end(out);
}

static void table(FILE *out, const struct scan_report *report, bool one_way) {
    static const char *const heads[] = {"sender", "endpoint", "stalls",   "a second",
                                        "lost",   "each",     "receiver", "unit or container", NULL};
    const struct scan_table *t = report->table;
    size_t shown = 0;
    page_table_begin(out, one_way ? "Streams" : "Who stalls", heads);
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].one_way == one_way && shown++ < ROWS_SHOWN)
            row(out, &t->rows[i], report);
    page_table_end(out);
    if (shown > ROWS_SHOWN)
        page_paragraph(out, "These are the heaviest 200; unstall scan --json lists all.");
}

static void places(FILE *out, const struct stats_files *s) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = s ? open_memstream(&text, &size) : NULL;
    if (!memory)
        return;
    sites_text(memory, s, NULL, SITES_WIDTH);
    if (fclose(memory) == 0 && size)
        page_verbatim(out, text + strspn(text, "\n"));
    free(text);
}

/* The heaviest row in one sentence, and the cost of all. */
static void verdict(FILE *out, const struct scan_report *report) {
    const struct scan_table *t = report->table;
    struct prose p = {.used = 0};
    char text[ENDPOINT_ROOM + NAME_ROOM];
    double stalls = 0, lost = 0;
    const struct scan_row *first = NULL;
    for (size_t i = 0; i < t->count; i++) {
        if (t->rows[i].one_way)
            continue;
        first = first ? first : &t->rows[i];
        stalls += t->rows[i].stalls.count;
        lost += t->rows[i].stalls.lost_ns;
    }
    if (!first) {
        page_verdict(out, "No stall was seen.");
        page_paragraph(out, "A stall is seen at its sender only: where the sender is elsewhere, scan there.");
        return;
    }
    scan_process_text(&first->process, first->uid, text, sizeof(text));
    prose_add(&p, "%s stalls %.1f times a second", text, first->stalls.count / seconds_of_scan(report));
    prose_add(&p, ", %s each time.",
              time_text((uint64_t)(first->stalls.lost_ns / first->stalls.count), false, text));
    page_verdict(out, p.text);
    page_bill(out, (uint64_t)stalls, (uint64_t)lost, report->result->ended_ns - report->result->began_ns, "");
}

static void what_to_do(FILE *out, const struct scan_process *p) {
    char text[NAME_ROOM];
    page_heading(out, "What to do");
    if (!p->pid) {
        page_paragraph(out, "Scan again as root, which may see the processes of all users.");
        return;
    }
    snprintf(text, sizeof(text), "unstall doctor %d", (int)p->pid);
    page_command(out, text);
}

void scan_report_html(FILE *out, const struct scan_report *report) {
    const struct scan_table *t = report->table;
    struct prose p = {.used = 0};
    char title[sizeof("unstall scan: ") + 160];
    snprintf(title, sizeof(title), "unstall scan: %.150s", report->scope);
    page_begin(out, title);
    verdict(out, report);
    if (t->count > t->one_way) {
        what_to_do(out, &t->rows[0].process);
        page_heading(out, "Who stalls");
        table(out, report, false);
    }
    if (t->one_way) {
        page_heading(out, "Streams of small writes without an answer");
        page_paragraph(out, "Nagle's algorithm buffers them on purpose.");
        table(out, report, true);
    }
    places(out, report->places);
    page_heading(out, "How it was seen");
    scan_report_head(&p, report, false);
    page_paragraph(out, p.text);
    page_end(out);
}
