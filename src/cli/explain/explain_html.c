/* SPDX-License-Identifier: MIT
 *
 * The report as a page: the verdict, what the stalls cost a day, the cure, one exchange as a ladder, when the
 * stalls happened and how long they took, and all senders.
 */
#include <stdio.h>

#include "chart.h"
#include "explain.h"
#include "format.h"
#include "page.h"

enum { ROWS_SHOWN = 200 };

static void bill(FILE *out, const struct findings *f) {
    int64_t lost, lasted = f->until_ns - f->from_ns;
    uint64_t n = findings_count(f, STALL_FOUND, &lost);
    if (n && lost > 0 && lasted > 0)
        page_bill(out, n, (uint64_t)lost, (uint64_t)lasted, "a recording of ");
}

static void cure(FILE *out, const struct finding *r) {
    char text[NOTE_TEXT + 64], part[NOTE_TEXT];
    page_heading(out, "What to do");
    snprintf(text, sizeof(text), "To cure, %s:", findings_cure_where(r, part));
    page_paragraph(out, text);
    page_command(out, findings_cure(r, part));
    snprintf(text, sizeof(text),
             "If you can change only %s, use one of these there:", findings_other_side(r));
    page_paragraph(out, text);
    for (int i = 0; i < CURES_THERE; i++)
        page_command(out, findings_cure_there(r, i));
    if (findings_places(r, text, sizeof(text)))
        page_paragraph(out, text);
    page_paragraph(
        out, "In the source of the writer: send the pieces of a message by one call (a buffer, "
             "writev), or set TCP_CORK around them, or set TCP_NODELAY. This command names the two "
             "places in the code:");
    snprintf(text, sizeof(text), "unstall observe -- %s", r->command[0] ? r->command : "PROGRAM");
    page_command(out, text);
}

static void cured_figure(FILE *out, const struct findings *f, const struct finding *r) {
    struct ladder cured = explain_ladder_cured(f, r);
    char text[NOTE_TEXT];
    ladder_figure(out, &cured, explain_ladder_caption(f, r, text));
}

static void exchange(FILE *out, const struct findings *f, const struct finding *r) {
    const struct finding_example *e = &r->examples[0];
    char text[300];
    struct ladder stalled = explain_ladder(f, r);
    page_heading(out, "One exchange");
    snprintf(text, sizeof(text), "As recorded: %s %lu, %lu and %lu of the file.",
             f->source == SOURCE_CAPTURE ? "packets" : "lines", (unsigned long)e->number[0],
             (unsigned long)e->number[1], (unsigned long)e->number[2]);
    fputs("<div class=\"side ladders\">\n", out);
    ladder_figure(out, &stalled, text);
    cured_figure(out, f, r);
    fputs("</div>\n", out);
}

static void distribution(FILE *out, const struct finding *r) {
    struct chart_bin bins[WAITS_BUCKETS];
    for (int i = 0; i < WAITS_BUCKETS; i++)
        bins[i] = (struct chart_bin){waits_bound(i), waits_bound(i + 1), r->waits.bucket[i]};
    chart_distribution(out, bins, WAITS_BUCKETS, "How long the rest of a message was held back");
}

static void timeline(FILE *out, const struct findings *f, const struct finding *r) {
    const struct timeline *t = &r->when;
    int64_t parts = (int64_t)timeline_used(t), whole = parts * t->part_ns;
    int64_t rest = f->until_ns - t->first * t->part_ns; /* the recording may end in the last part */
    chart_timeline(out, t->stalled, t->other, (size_t)parts, t->part_ns,
                   rest > whole - t->part_ns && rest < whole ? rest : whole,
                   "Exchanges, from the first stall on");
}

static void row(FILE *out, const struct finding *r) {
    char text[NAME_TEXT + 32], time[24];
    page_row_begin(out);
    snprintf(text, sizeof(text), "%s%s", r->writer,
             r->verdict == STALL_ONE_WAY ? " (never answered)" : "");
    page_cell(out, text);
    page_cell(out, r->by_server ? "its clients" : r->service);
    snprintf(text, sizeof(text), "%u", r->waits.count);
    page_number(out, text, r->waits.count);
    snprintf(text, sizeof(text), "%lu", (unsigned long)r->messages);
    page_number(out, text, (double)r->messages);
    int64_t median = waits_quantile(&r->waits, 0.5);
    page_number(out, duration_text(median, time), (double)median);
    page_number(out, duration_text(r->waits.sum_ns, time), (double)r->waits.sum_ns);
    page_row_end(out);
}

static void table(FILE *out, const struct findings *f) {
    static const char *const heads[] = {"writes in pieces", "to",    "stalls", "messages",
                                        "median",           "total", NULL};
    page_heading(out, "All that write in pieces");
    page_table_begin(out, "All that write in pieces", heads);
    for (uint32_t i = 0; i < f->row_count && i < ROWS_SHOWN; i++)
        row(out, &f->rows[i]);
    page_table_end(out);
    if (f->row_count > ROWS_SHOWN)
        page_paragraph(out, "These are the heaviest 200; unstall explain --json lists all.");
}

void explain_html(FILE *out, const char *name, const struct findings *f) {
    char sentence[2 * NOTE_TEXT];
    int64_t total;
    page_heading(out, name);
    findings_sentence(f, sentence, sizeof(sentence));
    page_verdict(out, sentence);
    bill(out, f);
    if (findings_count(f, STALL_FOUND, &total) > 0) {
        const struct finding *worst = &f->rows[0];
        if (f->source == SOURCE_STRACE) {
            char why[NOTE_TEXT + 64];
            snprintf(why, sizeof(why), "Why likely: %s", worst->evidence);
            page_paragraph(out, why);
        }
        cure(out, worst);
        exchange(out, f, worst);
        page_heading(out, "When, and how long");
        fputs("<div class=\"side\">\n", out);
        timeline(out, f, worst);
        distribution(out, worst);
        fputs("</div>\n", out);
    }
    if (f->row_count)
        table(out, f);
    for (int i = 0; i < f->note_count; i++)
        page_paragraph(out, f->notes[i]);
    if (f->stopped[0])
        page_paragraph(out, f->stopped);
}
