/* SPDX-License-Identifier: MIT
 *
 * unstall report: the report on a process, a segment or a folder of them.
 */
#include "report.h"

#include "args.h"
#include "errors.h"
#include "verbs.h"

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
