/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "names.h"

uint64_t ran_ns(const struct reader_segment *r) {
    uint64_t end = r->life == LIFE_ENDED ? r->header.ended_monotonic_ns : r->taken_ns;
    return end > r->header.started_monotonic_ns ? end - r->header.started_monotonic_ns : 0;
}

/* By the connection made first; only where it is a fair share of the time, the rest of which
 * the process waited for answers. */
static void add_start(struct verdict_start *start, const struct reader_segment *r) {
    const struct segment_connection *first = NULL;
    uint64_t waited = 0, loaded = r->header.loaded_monotonic_ns;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct reader_row *row = &r->rows[i];
        if (row->id.role != ROLE_DESTINATION)
            continue;
        waited += row->tally.counter[COUNT_EXCHANGE_NS];
        for (size_t k = 0; k < r->connection_count; k++) {
            const struct segment_connection *c = &r->connections[k];
            if (c->row == row->index && c->first_write_us != UINT32_MAX &&
                (!first || c->born_ns < first->born_ns))
                first = c;
        }
    }
    if (!first || !loaded || first->born_ns < loaded)
        return;
    uint64_t connected = first->born_ns - loaded;
    uint64_t written = connected + first->first_write_us * UINT64_C(1000);
    if (written < waited / 4)
        return;
    start->waited_ns += waited;
    start->connected_ns += connected;
    start->written_ns += written;
    start->processes++;
}

struct verdict_start start_of(const struct segments *s) {
    struct verdict_start start = {0};
    for (size_t i = 0; i < s->count; i++)
        add_start(&start, s->list[i]);
    return start;
}

bool is_used(const struct reader_row *row) {
    const uint64_t *c = row->tally.counter;
    return c[COUNT_CONNECTIONS] || c[COUNT_WRITES] || c[COUNT_READS] || c[COUNT_EXCHANGES];
}

const char *who_text(const struct segments *s, char text[WHO_ROOM]) {
    char first[48], other[48];
    base_text(s->list[0]->header.program, first, sizeof(first));
    bool same = true;
    for (size_t i = 1; i < s->count; i++)
        same &= strcmp(base_text(s->list[i]->header.program, other, sizeof(other)), first) == 0;
    if (s->count == 1)
        snprintf(text, WHO_ROOM, "%s (pid %u)", first, s->list[0]->header.pid);
    else
        snprintf(text, WHO_ROOM, "%s%s (%zu processes)", first, same ? "" : " and others",
                 s->count);
    return text;
}

int report_on(FILE *out, const struct segments *s, char *const *argv, bool json) {
    struct report report = {.segments = s, .argv = argv};
    struct reader_row *rows = segments_merge(s, &report.row_count);
    if (!rows)
        return EXIT_OWN;
    report.rows = rows;
    if (json)
        report_json(out, &report);
    else
        report_text(out, &report);
    free(rows);
    return 0;
}

static int tell(const char *word, bool json) {
    struct segments s;
    int failed = segments_open(&s, word, READ_ALL, false);
    if (failed)
        return failed;
    failed = report_on(stdout, &s, NULL, json);
    segments_close(&s);
    return failed ? failed : finish_output();
}

static int run(int argc, char **argv) {
    struct args a = args_begin(&verb_report, argc, argv);
    const char *word = NULL;
    bool json = false;
    enum args_kind kind;
    while ((kind = args_next(&a)) != ARGS_END) {
        if (kind == ARGS_OPTION && args_flag(&a, "--json"))
            json = true;
        else if (kind == ARGS_OPTION)
            return args_unknown(&a);
        else if (word)
            return complain("%s: one PID, FILE or DIR at a time; try --help", a.word);
        else
            word = a.word;
    }
    if (!word)
        return complain("no PID, FILE or DIR given; try --help");
    return tell(word, json);
}

const struct verb verb_report = {
    .name = "report",
    .summary = "Tell what a program's statistics say, and who wrote the pieces",
    .usage = "[--json] PID|FILE|DIR",
    .help = "  --json  everything, for programs; the form is in the manual\n"
            "\n"
            "PID is a running process, FILE the segment that one has left, DIR the folder\n"
            "that UNSTALL_STATS named (all its processes, added up).\n",
    .run = run,
};
