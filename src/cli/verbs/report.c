/* SPDX-License-Identifier: MIT
 *
 * unstall report: the report on a process, a segment or a folder of them.
 */
#include "report.h"

#include "args.h"
#include "errors.h"
#include "verbs.h"

static int report(const char *word, bool json) {
    struct stats_files s;
    int failed = stats_files_open(&s, word, READ_ALL, false);
    if (failed)
        return failed;
    failed = report_on(stdout, &s, NULL, json);
    stats_files_close(&s);
    return failed ? failed : finish_output();
}

static int run(int argc, char **argv) {
    bool json = false;
    const char *word = args_word_and_json(&verb_report, argc, argv, "PID, FILE or DIR", &json);
    return word ? report(word, json) : EXIT_OWN;
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
