/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <stdlib.h>

#include "common.h"

uint64_t ran_ns(const struct reader_segment *r) {
    uint64_t end = r->life == LIFE_ENDED ? r->header.ended_monotonic_ns : r->taken_ns;
    return end > r->header.started_monotonic_ns ? end - r->header.started_monotonic_ns : 0;
}

static int tell(const char *word, bool json) {
    struct segments s;
    int failed = segments_open(&s, word, READ_ALL, false);
    if (failed)
        return failed;
    size_t row_count;
    struct reader_row *rows = segments_merge(&s, &row_count);
    if (rows && json)
        report_json(stdout, &s, rows, row_count);
    else if (rows)
        report_text(stdout, &s, rows, row_count);
    failed = rows ? finish_output() : EXIT_OWN;
    free(rows);
    segments_close(&s);
    return failed;
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
        return complain("of what? Give a PID, a segment or a folder of segments; try --help");
    return tell(word, json);
}

const struct verb verb_report = {
    .name = "report",
    .summary = "Tell what a program's statistics say: stalls, their cost, who wrote the pieces",
    .usage = "[--json] PID|FILE|DIR",
    .help = "  --json  everything, for programs; the form is in the manual\n"
            "\n"
            "PID is a running process, FILE the segment that one has left, DIR the folder\n"
            "that UNSTALL_STATS named (all its processes, added up).\n",
    .run = run,
};
