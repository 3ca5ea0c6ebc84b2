/* SPDX-License-Identifier: MIT */
#include "metrics.h"

#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "format.h"
#include "stats_names.h"

/* ---- lines --------------------------------------------------------------- */

void openmetrics_label(char *labels, size_t size, const char *name, const char *value) {
    size_t used = strlen(labels);
    used += (size_t)snprintf(labels + used, size - used, "%s%s=\"", used ? "," : "", name);
    for (const char *c = value; *c && used + 4 < size; c++) {
        if (*c == '"' || *c == '\\')
            labels[used++] = '\\';
        labels[used++] = *c;
    }
    snprintf(labels + used, size - used, "\"");
}

void openmetrics_family(FILE *out, enum metrics_form form, const char *name, const char *type,
                        const char *unit, const char *help) {
    bool open = form == METRICS_OPEN;
    const char *suffix = "";
    if (!open && strcmp(type, "counter") == 0)
        suffix = "_total";
    if (!open && strcmp(type, "info") == 0) {
        suffix = "_info";
        type = "gauge";
    }
    fprintf(out, "# TYPE unstall_%s%s %s\n", name, suffix, type);
    if (open && unit)
        fprintf(out, "# UNIT unstall_%s %s\n", name, unit);
    fprintf(out, "# HELP unstall_%s%s %s\n", name, suffix, help);
}

void openmetrics_seconds(FILE *out, uint64_t ns) {
    fprintf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

/* ---- the series ------------------------------------------------------- */

/* A row of one process, or the sum over several processes with the same id, one after the other: a series
 * must be unique, and the sum keeps it growing. */
struct series {
    uint32_t pid;
    const char *program;
    struct reader_row row;
    char labels[512];
};

struct metrics {
    FILE *out;
    enum metrics_form form;
    struct series *series;
    size_t count;
};

static void set_labels(struct series *s) {
    char text[ENDPOINT_ROOM], number[16];
    size_t size = sizeof(s->labels);
    s->labels[0] = '\0';
    snprintf(number, sizeof(number), "%" PRIu32, s->pid);
    openmetrics_label(s->labels, size, "pid", number);
    openmetrics_label(s->labels, size, "program", base_text(s->program, text, sizeof(text)));
    openmetrics_label(s->labels, size, "endpoint", row_text(&s->row.id, text));
    openmetrics_label(s->labels, size, "role", role_name(&s->row.id));
    snprintf(number, sizeof(number), "%u", s->row.id.arm);
    openmetrics_label(s->labels, size, "arm", s->row.id.arm == 0xff ? "" : number);
    openmetrics_label(s->labels, size, "mode", mode_name(s->row.id.mode));
}

static void add_series(struct metrics *m, const struct reader_file *r,
                       const struct reader_row *row) {
    for (size_t i = 0; i < m->count; i++) {
        struct series *s = &m->series[i];
        if (s->pid == r->header.pid && stats_same_row(&s->row.id, &row->id) &&
            strcmp(s->program, r->header.program) == 0) {
            reader_add(&s->row.tally, &row->tally);
            return;
        }
    }
    struct series *s = &m->series[m->count++];
    *s = (struct series){.pid = r->header.pid, .program = r->header.program, .row = *row};
    set_labels(s);
}

static bool collect(struct metrics *m, const struct stats_files *files) {
    size_t most = 1;
    for (size_t i = 0; i < files->count; i++)
        most += files->list[i]->row_count;
    m->series = calloc(most, sizeof(*m->series));
    if (!m->series)
        return false;
    for (size_t i = 0; i < files->count; i++)
        for (size_t k = 0; k < files->list[i]->row_count; k++)
            if (is_used(&files->list[i]->rows[k]))
                add_series(m, files->list[i], &files->list[i]->rows[k]);
    return true;
}

/* ---- families --------------------------------------------------------- */

/* Counters that a histogram repeats as its sum or count. */
static bool is_in_histogram(unsigned counter) {
    return counter == COUNT_EXCHANGES || counter == COUNT_EXCHANGE_NS || counter == COUNT_ANSWERS ||
           counter == COUNT_ANSWER_NS;
}

#define COUNTER_HELP(constant, name, what) [COUNT_##constant] = what,
static const char *const helps[STATS_COUNTERS] = {STATS_COUNTERS_OF(COUNTER_HELP)};
#undef COUNTER_HELP

static void counter(const struct metrics *m, unsigned which) {
    char name[64], help[160];
    size_t length = strlen(counter_names[which]);
    bool time = length > 3 && strcmp(counter_names[which] + length - 3, "_ns") == 0;
    snprintf(name, sizeof(name), "%.*s%s", (int)(time ? length - 3 : length), counter_names[which],
             time ? "_seconds" : "");
    bool goes_on = strncmp(helps[which], "... ", 4) == 0; /* described by stats_format.h */
    snprintf(help, sizeof(help), "%s", helps[which] + (goes_on ? 4 : 0));
    if (time && strlen(help) > 4 && strcmp(help + strlen(help) - 4, ", ns") == 0)
        help[strlen(help) - 4] = '\0';
    openmetrics_family(m->out, m->form, name, "counter", time ? "seconds" : NULL, help);
    for (size_t i = 0; i < m->count; i++) {
        uint64_t value = m->series[i].row.tally.counter[which];
        fprintf(m->out, "unstall_%s_total{%s} ", name, m->series[i].labels);
        if (time)
            openmetrics_seconds(m->out, value);
        else
            fprintf(m->out, "%" PRIu64, value);
        fputc('\n', m->out);
    }
}

/* ---- histograms -------------------------------------------------------- */

/* Bounds in octaves, and in eighths of an octave around stalls.  Each is a bound of our own buckets, so
 * that no count is interpolated. */
static const struct {
    uint8_t octave, eighth;
} bounds[] = {{14, 0}, {16, 0}, {18, 0}, {20, 0}, {22, 0}, {23, 0}, {24, 0},
              {25, 0}, {25, 1}, {25, 2}, {25, 3}, {25, 4}, {26, 0}, {27, 0},
              {27, 4}, {28, 0}, {29, 0}, {30, 0}, {32, 0}, {34, 0}, {36, 0}};

static void histogram_of(const struct metrics *m, const char *name, const struct series *s,
                         const uint64_t *buckets, uint64_t sum) {
    uint64_t below = 0, all = 0;
    unsigned next = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        all += buckets[i];
    for (size_t b = 0; b < ARRAY_SIZE(bounds); b++) {
        unsigned octave = bounds[b].octave;
        uint64_t bound = (UINT64_C(1) << octave) + ((uint64_t)bounds[b].eighth << octave) / 8;
        unsigned end = histogram_bucket_of(bound, HISTOGRAM_STEPS);
        while (next < end)
            below += buckets[next++];
        fprintf(m->out, "unstall_%s_bucket{%s,le=\"", name, s->labels);
        openmetrics_seconds(m->out, bound);
        fprintf(m->out, "\"} %" PRIu64 "\n", below);
    }
    fprintf(m->out, "unstall_%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, s->labels, all);
    fprintf(m->out, "unstall_%s_sum{%s} ", name, s->labels);
    openmetrics_seconds(m->out, sum);
    fprintf(m->out, "\nunstall_%s_count{%s} %" PRIu64 "\n", name, s->labels, all);
}

static void histograms(const struct metrics *m) {
    openmetrics_family(m->out, m->form, "exchange_seconds", "histogram", "seconds",
                       "first write of a message to the next input");
    for (size_t i = 0; i < m->count; i++)
        histogram_of(m, "exchange_seconds", &m->series[i], m->series[i].row.tally.exchange,
                     m->series[i].row.tally.counter[COUNT_EXCHANGE_NS]);
    openmetrics_family(m->out, m->form, "answer_seconds", "histogram", "seconds",
                       "input to the first write after it: the application's own time");
    for (size_t i = 0; i < m->count; i++)
        histogram_of(m, "answer_seconds", &m->series[i], m->series[i].row.tally.answer,
                     m->series[i].row.tally.counter[COUNT_ANSWER_NS]);
}

/* ---- processes --------------------------------------------------------- */

/* True for the newest of the processes with this id. */
static bool is_last(const struct stats_files *s, size_t which) {
    for (size_t i = which + 1; i < s->count; i++)
        if (s->list[i]->header.pid == s->list[which]->header.pid)
            return false;
    return true;
}

static void processes(const struct metrics *m, const struct stats_files *s) {
    openmetrics_family(m->out, m->form, "process", "info", NULL, "a process that has statistics");
    for (size_t i = 0; i < s->count; i++) {
        const struct reader_file *r = s->list[i];
        char labels[512] = "", text[ENDPOINT_ROOM];
        if (!is_last(s, i))
            continue;
        snprintf(text, sizeof(text), "%" PRIu32, r->header.pid);
        openmetrics_label(labels, sizeof(labels), "pid", text);
        openmetrics_label(labels, sizeof(labels), "program",
                          base_text(r->header.program, text, sizeof(text)));
        openmetrics_label(labels, sizeof(labels), "mode", mode_name(r->header.mode));
        openmetrics_label(labels, sizeof(labels), "state", life_name(r->life));
        openmetrics_label(labels, sizeof(labels), "library",
                          safe_text(r->header.library, text, sizeof(text)));
        fprintf(m->out, "unstall_process_info{%s} 1\n", labels);
    }
    uint64_t connections = 0, rows = 0;
    for (size_t i = 0; i < s->count; i++) {
        connections += s->list[i]->header.lost_connections;
        rows += s->list[i]->header.lost_rows;
    }
    openmetrics_family(m->out, m->form, "lost_connections", "counter", NULL,
                       "connections without a record of their own");
    fprintf(m->out, "unstall_lost_connections_total %" PRIu64 "\n", connections);
    openmetrics_family(m->out, m->form, "lost_endpoints", "counter", NULL,
                       "endpoints counted as other");
    fprintf(m->out, "unstall_lost_endpoints_total %" PRIu64 "\n", rows);
    openmetrics_family(m->out, m->form, "unreadable_files", "gauge", NULL,
                       "files that could not be read");
    fprintf(m->out, "unstall_unreadable_files %zu\n", s->refused);
}

bool metrics_write(FILE *out, const struct stats_files *s, enum metrics_form form) {
    struct metrics m = {.out = out, .form = form};
    if (!collect(&m, s))
        return false;
    processes(&m, s);
    for (unsigned i = 0; i < STATS_COUNTERS; i++)
        if (!is_in_histogram(i))
            counter(&m, i);
    histograms(&m);
    if (form == METRICS_OPEN)
        fputs("# EOF\n", out);
    free(m.series);
    return true;
}
