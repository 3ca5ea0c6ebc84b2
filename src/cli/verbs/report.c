/* SPDX-License-Identifier: MIT
 *
 * unstall report: the report on a process, a statistics file or a folder of them.
 */
#include "report.h"

#include "args.h"
#include "errors.h"

static int report(const char *word, bool json, const char *page) {
    struct stats_files s;
    int failed = stats_files_open(&s, word, READ_ALL, false);
    if (failed)
        return failed;
    const struct report about = {.files = &s};
    int code = page ? report_page(page, &about) : report_on(stdout, &about, json ? report_json : report_text);
    stats_files_close(&s);
    failed = finish_output();
    return failed ? failed : code;
}

static int run(int argc, char **argv) {
    static const char what[] = "PID, FILE, DIR or SERVICE";
    const char *word = NULL, *page = NULL;
    bool json = false;
    const struct args_option options[] = {{"--json", &json, NULL}, {"--html", NULL, &page}, {0}};
    if (!args_all(&verb_report, argc, argv, options, what, &word))
        return EXIT_OWN;
    if (!word)
        return args_no_word(what);
    if (json && page)
        return complain("--json and --html: choose one of them");
    return report(word, json, page);
}

const struct verb verb_report = {
    .name = "report",
    .summary = "Tell what a program's statistics say, and who wrote the pieces",
    .usage = "[--json|--html FILE] PID|FILE|DIR|SERVICE",
    .help = "  --json       everything, for programs; the form is in the manual\n"
            "  --html FILE  the report as a page with pictures (\"-\": standard output)\n"
            "\n"
            "PID is a running process, FILE the statistics file that one has left, DIR the\n"
            "folder that UNSTALL_STATS named (all its processes, added up), and SERVICE one\n"
            "that was enabled with --stats.\n"
            "\n"
            "Exit codes: 0 no stall, 1 stalls, 2 it cannot be told, 125 the command failed.\n",
    .run = run,
};
