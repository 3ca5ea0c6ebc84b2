/* SPDX-License-Identifier: MIT
 *
 * The report for people: a verdict in one sentence, a table, an example to look up, and the commands to
 * type.  It is 80 columns wide.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "explain.h"
#include "prose.h"
#include "terminal.h"

enum { COLUMNS = 80, ROWS_SHOWN = 10 };

static const char *plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

static unsigned long lu(uint64_t n) {
    return (unsigned long)n;
}

static void paragraph(FILE *out, const char *text) {
    print_wrapped(out, text, 0, 0, COLUMNS);
}

static void clock_text(int64_t ns, bool of_a_day, char text[32]) {
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm parts;
    if (of_a_day || (seconds < 86400 && seconds >= 0))
        gmtime_r(&seconds, &parts);
    else
        localtime_r(&seconds, &parts);
    size_t n = strftime(text, 32, "%H:%M:%S", &parts);
    snprintf(text + n, 32 - n, ".%06ld", (long)(ns % 1000000000 / 1000));
}

/* ---- parts ----------------------------------------------------------- */

static void head(FILE *out, const char *name, const struct findings *f) {
    bool capture = f->source == SOURCE_CAPTURE;
    char text[24];
    fputs(colour(out, BOLD), out);
    print_safe(out, name);
    fprintf(out, "%s: %s, %lu %s%s", colour(out, PLAIN), capture ? "capture" : "strace log",
            lu(f->entries), capture ? "packet" : "line", plural(f->entries));
    if (f->connections)
        fprintf(out, ", %lu TCP connection%s", lu(f->connections), plural(f->connections));
    if (f->entries)
        fprintf(out, ", %s", duration_text(f->until_ns - f->from_ns, text));
    fputs("\n\n", out);
}

/* A name that is too long for its column has a line of its own. */
static void table_row(FILE *out, const struct finding *r) {
    char median[24], total[24];
    const char *to = r->verdict == STALL_ONE_WAY ? "(never answered)"
                     : r->by_server              ? "its clients"
                                                 : r->service;
    if (strlen(r->writer) > 22 || strlen(to) > 22)
        fprintf(out, "%s\n%-22s %-22s", r->writer, "", strlen(to) > 22 ? "" : to);
    else
        fprintf(out, "%-22s %-22s", r->writer, to);
    fprintf(out, " %7u %8lu %8s %8s\n", r->waits.count, lu(r->messages),
            duration_text(waits_quantile(&r->waits, 0.5), median),
            duration_text(r->waits.sum_ns, total));
    if (strlen(to) > 22)
        fprintf(out, "    to %s\n", to);
}

static void table(FILE *out, const struct findings *f) {
    fprintf(out, "%-22s %-22s %7s %8s %8s %8s\n", "writes in pieces", "to", "stalls", "messages",
            "median", "total");
    for (uint32_t i = 0; i < f->row_count && i < ROWS_SHOWN; i++)
        table_row(out, &f->rows[i]);
    if (f->row_count > ROWS_SHOWN)
        fprintf(out, "and %u more (--json lists all)\n", f->row_count - ROWS_SHOWN);
    fputc('\n', out);
}

static void capture_example(FILE *out, const struct finding_example *e) {
    char at[32], wait[24];
    fprintf(out, "For example, %s -> %s, packets %lu, %lu and %lu:\n", e->from, e->to,
            lu(e->number[0]), lu(e->number[1]), lu(e->number[2]));
    clock_text(e->at_ns[0], false, at);
    fprintf(out, "  %s  %u byte%s, a small segment; the rest is held back\n", at, e->bytes[0],
            plural(e->bytes[0]));
    clock_text(e->at_ns[1], false, at);
    fprintf(out, "  %s  %s later: the peer's bare acknowledgement, delayed\n", at,
            duration_text(e->at_ns[1] - e->at_ns[0], wait));
    clock_text(e->at_ns[2], false, at);
    fprintf(out, "  %s  %s later: the rest, %u byte%s, freed by it\n\n", at,
            duration_text(e->at_ns[2] - e->at_ns[1], wait), e->bytes[1], plural(e->bytes[1]));
}

static void strace_example(FILE *out, const struct findings *f, const struct finding *r) {
    const struct finding_example *e = &r->examples[0];
    char at[32], wait[24];
    fprintf(out, "For example, lines %lu, %lu and %lu, descriptor %s:\n", lu(e->number[0]),
            lu(e->number[1]), lu(e->number[2]), e->from);
    clock_text(e->at_ns[0], f->of_a_day, at);
    fprintf(out, "  %s  %u byte%s are written\n", at, e->bytes[0], plural(e->bytes[0]));
    clock_text(e->at_ns[1], f->of_a_day, at);
    fprintf(out, "  %s  %u more: held back until the first have been acknowledged\n", at,
            e->bytes[1]);
    clock_text(e->at_ns[2], f->of_a_day, at);
    fprintf(out, "  %s  %s later: the %s\n\n", at, duration_text(e->at_ns[2] - e->at_ns[1], wait),
            r->by_server ? "next request" : "answer");
}

static void cure(FILE *out, const struct finding *r) {
    char where[NOTE_TEXT], command[NOTE_TEXT];
    fprintf(out, "To cure: %s:\n    %s\n", findings_cure_where(r, where), findings_cure(r, command));
    fprintf(out, "If you can change only %s, use one of these there:\n", findings_other_side(r));
    for (int i = 0; i < CURES_THERE; i++)
        fprintf(out, "    %s\n", findings_cure_there(r, i));
}

static void look_closer(FILE *out, const struct finding *r) {
    char note[NOTE_TEXT + 64];
    if (findings_places(r, note, sizeof(note)))
        paragraph(out, note);
    snprintf(note, sizeof(note), "Why likely: %s", r->evidence);
    paragraph(out, note);
    fprintf(out, "To be sure:\n");
    if (r->port)
        fprintf(out,
                "    tcpdump -i any -s 128 -w stall.pcap tcp port %u\n"
                "    unstall explain stall.pcap\n",
                r->port);
    fprintf(out, "    unstall observe -- %s\n", r->command[0] ? r->command : "PROGRAM");
}

void explain_text(FILE *out, const char *name, const struct findings *f) {
    char sentence[2 * NOTE_TEXT];
    int64_t total;
    bool stalls = findings_count(f, STALL_FOUND, &total) > 0;
    if (!findings_none(f)) {
        head(out, name, f);
        findings_sentence(f, sentence, sizeof(sentence));
        const struct verdict v = findings_verdict(f);
        enum verdict_kind kind = verdict_of(&v);
        fputs(colour(out, stalls ? RED : kind == VERDICT_NONE ? GREEN : YELLOW), out);
        paragraph(out, sentence);
        fputs(colour(out, PLAIN), out);
        fputc('\n', out);
    }
    if (f->row_count) {
        table(out, f);
        if (f->source == SOURCE_CAPTURE)
            capture_example(out, &f->rows[0].examples[0]);
        else
            strace_example(out, f, &f->rows[0]);
    }
    if (stalls) {
        if (f->source == SOURCE_STRACE)
            look_closer(out, &f->rows[0]);
        cure(out, &f->rows[0]);
        fputc('\n', out);
    }
    for (int i = 0; i < f->note_count; i++)
        paragraph(out, f->notes[i]);
}
