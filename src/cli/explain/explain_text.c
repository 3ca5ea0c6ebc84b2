/* SPDX-License-Identifier: MIT
 *
 * The report for people: a verdict in one sentence, a table, an example to look up, and the commands to
 * type.  It is as wide as the terminal, 80 columns at most.
 */
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "explain.h"
#include "grid.h"
#include "terminal.h"

enum { COLUMNS_LEAST = 40, COLUMNS = 80, ROWS_SHOWN = 10 };

static const char *plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

static unsigned long lu(uint64_t n) {
    return (unsigned long)n;
}

static unsigned width_of(FILE *out) {
    return terminal_width_within(out, COLUMNS_LEAST, COLUMNS);
}

static void paragraph(FILE *out, const char *text) {
    print_wrapped(out, text, 0, 0, width_of(out));
}

/* A command as it is typed; on a narrow terminal in lines that a shell takes for one, its remark below. */
static void command(FILE *out, const char *text) {
    enum { INDENT = 4, END = 2 };
    unsigned width = width_of(out), column = INDENT;
    bool wraps = strlen(text) + INDENT > width;
    fprintf(out, "%*s", INDENT, "");
    while (*text) {
        if (wraps && strncmp(text, "   # ", 5) == 0) {
            fprintf(out, "\n%*s%s", INDENT, "", text + 3);
            break;
        }
        unsigned word = (unsigned)strcspn(text, " ");
        bool more = text[word] == ' ';
        if (wraps && column > INDENT && column + word + (more ? END : 0u) > width) {
            fprintf(out, "\\\n%*s", 2 * INDENT, "");
            column = 2 * INDENT;
        }
        fprintf(out, "%.*s%s", (int)word, text, more ? " " : "");
        column += word + 1;
        text += word + (more ? 1 : 0);
    }
    fputc('\n', out);
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

/* "  12:00:00.000001  200 bytes are written" */
__attribute__((format(printf, 4, 5))) static void event(FILE *out, const struct findings *f, int64_t at_ns,
                                                        const char *format, ...) {
    char at[32], text[NOTE_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    clock_text(at_ns, f->of_a_day, at);
    fprintf(out, "  %s  ", at);
    print_wrapped(out, text, (unsigned)strlen(at) + 4, 4, width_of(out));
}

/* ---- parts ----------------------------------------------------------- */

static void head(FILE *out, const char *name, const struct findings *f) {
    bool capture = f->source == SOURCE_CAPTURE;
    char text[24];
    struct prose p = {.used = 0};
    prose_add(&p, "%s, %lu %s%s", capture ? "capture" : "strace log", lu(f->entries),
              capture ? "packet" : "line", plural(f->entries));
    if (f->connections)
        prose_add(&p, ", %s%lu TCP connection%s", f->evicted ? "up to " : "", lu(f->connections),
                  plural(f->connections));
    if (f->entries)
        prose_add(&p, ", %s", duration_text(f->until_ns - f->from_ns, text));
    fputs(colour(out, BOLD), out);
    print_safe(out, name);
    fprintf(out, "%s: ", colour(out, PLAIN));
    print_wrapped(out, p.text, (unsigned)columns_of(name) + 2, 0, width_of(out));
    fputc('\n', out);
}

/* ---- the table ---------------------------------------------------------------------------------- */

static const struct grid_column columns[] = {
    {"writes in pieces", 22, true, 0}, {"to", 23, true, 3},     {"stalls", 8, false, 0},
    {"messages", 9, false, 2},         {"median", 9, false, 1}, {"total", 9, false, 0},
};

static void table_row(FILE *out, const struct grid *g, const struct finding *r) {
    char median[24], total[24], stalls[24], messages[24];
    const char *to = r->verdict == STALL_ONE_WAY ? "(never answered)"
                     : r->by_server              ? "its clients"
                                                 : r->service;
    snprintf(stalls, sizeof(stalls), "%u", r->waits.count);
    snprintf(messages, sizeof(messages), "%lu", lu(r->messages));
    duration_text(waits_quantile(&r->waits, 0.5), median);
    duration_text(r->waits.sum_ns, total);
    grid_line(out, g, (const char *[]){r->writer, to, stalls, messages, median, total});
}

static void table(FILE *out, const struct findings *f) {
    const struct grid g = grid_fit(columns, ARRAY_SIZE(columns), width_of(out));
    grid_heading(out, &g);
    for (uint32_t i = 0; i < f->row_count && i < ROWS_SHOWN; i++)
        table_row(out, &g, &f->rows[i]);
    if (f->row_count > ROWS_SHOWN)
        fprintf(out, "and %u more (--json lists all)\n", f->row_count - ROWS_SHOWN);
    fputc('\n', out);
}

/* ---- the example and the cure ----------------------------------------- */

static void capture_example(FILE *out, const struct findings *f, const struct finding_example *e) {
    char wait[24], text[NOTE_TEXT];
    snprintf(text, sizeof(text), "For example, %s -> %s, packets %lu, %lu and %lu:", e->from, e->to,
             lu(e->number[0]), lu(e->number[1]), lu(e->number[2]));
    paragraph(out, text);
    event(out, f, e->at_ns[0], "%u byte%s, a small segment; the rest is held back", e->bytes[0],
          plural(e->bytes[0]));
    event(out, f, e->at_ns[1], "%s later: the peer's bare acknowledgement, delayed",
          duration_text(e->at_ns[1] - e->at_ns[0], wait));
    event(out, f, e->at_ns[2], "%s later: the rest, %u byte%s, freed by it",
          duration_text(e->at_ns[2] - e->at_ns[1], wait), e->bytes[1], plural(e->bytes[1]));
    fprintf(out, "  in Wireshark: frame.number in {%lu,%lu,%lu}\n\n", lu(e->number[0]), lu(e->number[1]),
            lu(e->number[2]));
}

static void strace_example(FILE *out, const struct findings *f, const struct finding *r) {
    const struct finding_example *e = &r->examples[0];
    char wait[24], text[NOTE_TEXT];
    snprintf(text, sizeof(text), "For example, lines %lu, %lu and %lu, descriptor %s:", lu(e->number[0]),
             lu(e->number[1]), lu(e->number[2]), e->from);
    paragraph(out, text);
    event(out, f, e->at_ns[0], "%u byte%s are written", e->bytes[0], plural(e->bytes[0]));
    event(out, f, e->at_ns[1], "%u more: held back until the first have been acknowledged", e->bytes[1]);
    event(out, f, e->at_ns[2], "%s later: the %s", duration_text(e->at_ns[2] - e->at_ns[1], wait),
          r->by_server ? "next request" : "answer");
    fputc('\n', out);
}

static void cure(FILE *out, const struct finding *r) {
    char text[NOTE_TEXT + 64], part[NOTE_TEXT];
    snprintf(text, sizeof(text), "To cure: %s:", findings_cure_where(r, part));
    paragraph(out, text);
    command(out, findings_cure(r, part));
    snprintf(text, sizeof(text), "If you can change only %s, use one of these there:",
             findings_other_side(r));
    paragraph(out, text);
    for (int i = 0; i < CURES_THERE; i++)
        command(out, findings_cure_there(r, i));
}

static void look_closer(FILE *out, const struct finding *r) {
    char note[NOTE_TEXT + 64];
    if (findings_places(r, note, sizeof(note)))
        paragraph(out, note);
    snprintf(note, sizeof(note), "Why likely: %s", r->evidence);
    paragraph(out, note);
    paragraph(out, "To be sure:");
    if (r->port) {
        snprintf(note, sizeof(note), "tcpdump -i any -s 128 -w stall.pcap tcp port %u", r->port);
        command(out, note);
        command(out, "unstall explain stall.pcap");
    }
    snprintf(note, sizeof(note), "unstall observe -- %s", r->command[0] ? r->command : "PROGRAM");
    command(out, note);
}

void explain_text(FILE *out, const char *name, const struct findings *f) {
    char sentence[2 * NOTE_TEXT];
    bool stalls = findings_count(f, STALL_FOUND, NULL) > 0;
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
            capture_example(out, f, &f->rows[0].examples[0]);
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
