/* SPDX-License-Identifier: MIT
 *
 * unstall explain: finds the stalls in captures and logs of strace that the user already has.
 */
#include "explain.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "errors.h"
#include "verbs.h"

static void on_interrupt(int signal_number) {
    (void)signal_number;
}

/* In `tcpdump -w - … | unstall explain -`, Ctrl-C ends tcpdump and so the input, and the report must still
 * be written: the first Ctrl-C is ignored, the second one ends this process. */
static void ignore_first_interrupt(void) {
    struct sigaction once = {.sa_handler = on_interrupt,
                             .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
    sigaction(SIGINT, &once, NULL);
}

/* ---- one file -------------------------------------------------------- */

static int explain_one(const char *name, struct json *json) {
    bool standard = strcmp(name, "-") == 0;
    FILE *in = standard ? stdin : fopen(name, "re");
    if (!in)
        return complain("%s: %s", name, strerror(errno));
    if (standard && isatty(STDIN_FILENO))
        return complain("-: standard input is a terminal; give a file, or pipe one in");
    if (standard)
        ignore_first_interrupt();
    struct findings f;
    if (!findings_make(&f, SOURCE_CAPTURE))
        return complain("%s: %s", name, strerror(ENOMEM));
    const char *shown = standard ? "standard input" : name;
    explain_open(in, shown, &f);
    if (json)
        explain_json(json, shown, &f);
    else
        explain_text(stdout, shown, &f);
    int result = f.stopped[0] ? complain("%s: %s", shown, f.stopped) : 0;
    findings_free(&f);
    return result;
}

/* ---- the verb -------------------------------------------------------- */

static int explain(int argc, char **argv) {
    struct args a = args_begin(&verb_explain, argc, argv);
    struct json json = json_begin(stdout);
    bool as_json = false;
    int files = 0, result = 0;
    enum args_kind kind;
    while ((kind = args_next(&a)) != ARGS_END) {
        if (kind == ARGS_WORD)
            argv[files++] = argv[a.at - 1]; /* words move to the front */
        else if (args_flag(&a, "--json"))
            as_json = true;
        else
            return args_unknown(&a);
    }
    if (files == 0)
        return complain("no file: give a capture (pcap, pcapng) or a log of strace; try --help");
    if (as_json)
        json_array(&json, NULL);
    for (int i = 0; i < files; i++) {
        if (!as_json && i > 0)
            putchar('\n');
        int one = explain_one(argv[i], as_json ? &json : NULL);
        result = one ? one : result;
    }
    if (as_json) {
        json_array_end(&json);
        json_end(&json);
    }
    int written = finish_output();
    return result ? result : written;
}

const struct verb verb_explain = {
    .name = "explain",
    .summary = "Find the stalls in a packet capture or a log of strace",
    .usage = "[--json] FILE...",
    .help = "Reads files of two kinds, told apart by their content (\"-\": standard input):\n"
            "  a packet capture (pcap, pcapng), as of\n"
            "      tcpdump -i any -s 128 -w FILE tcp port 80\n"
            "  a log of strace with times, as of\n"
            "      strace -f -tt -T -yy -o FILE -p PID      (-ttt and -r do as well)\n"
            "Says which side writes in pieces, what the waits cost, where to look them up,\n"
            "and what cures them. In a capture a stall is proved, in a log it is likely.\n"
            "\n"
            "  --json     an array with an object for each file\n"
            "  --help     this text\n"
            "\n"
            "Ends with 0 if every file was read to its end, else with 125.\n",
    .run = explain,
};
