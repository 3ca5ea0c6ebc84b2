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
#include "render.h"
#include "terminal.h"

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

/* How the findings are written. */
struct form {
    struct json *json; /* NULL: as text */
    bool ladder;
};

/* ---- one file -------------------------------------------------------- */

static void write_ladders(const char *shown, const struct findings *f) {
    char sentence[2 * NOTE_TEXT], caption[NOTE_TEXT];
    struct prose said = {.used = 0};
    unsigned width = terminal_width_within(stdout, 40, LADDER_COLUMNS);
    if (findings_none(f))
        return;
    findings_sentence(f, sentence, sizeof(sentence));
    prose_add(&said, "%s: %s", shown, sentence);
    prose_print(stdout, &said, 0, width);
    if (findings_count(f, STALL_FOUND, NULL) == 0)
        return;
    putchar('\n');
    struct ladder stalled = explain_ladder(f, &f->rows[0]),
                  cured = explain_ladder_cured(f, &f->rows[0]);
    bool ascii = !speaks_utf8();
    ladder_text(stdout, &stalled, width, ascii);
    putchar('\n');
    said.used = 0;
    prose_add(&said, "%s", explain_ladder_caption(f, &f->rows[0], caption));
    prose_print(stdout, &said, 0, width);
    putchar('\n');
    ladder_text(stdout, &cured, width, ascii);
}

static void write_findings(const struct form *form, const char *shown, const struct findings *f) {
    if (form->json)
        explain_json(form->json, shown, f);
    else if (form->ladder)
        write_ladders(shown, f);
    else
        explain_text(stdout, shown, f);
}

static int explain_one(const char *name, const struct form *form) {
    bool standard = strcmp(name, "-") == 0;
    FILE *in = standard ? stdin : fopen(name, "re");
    if (!in)
        return complain("%s: %s", name, strerror(errno));
    if (standard && isatty(STDIN_FILENO))
        return complain("-: standard input is a terminal; give a file, or pipe one in");
    if (standard)
        ignore_first_interrupt();
    struct findings f;
    if (!findings_make(&f))
        return complain("%s: %s", name, strerror(ENOMEM));
    const char *shown = standard ? "standard input" : name;
    explain_open(in, shown, &f);
    write_findings(form, shown, &f);
    const struct verdict v = findings_verdict(&f);
    int result = f.stopped[0] ? complain("%s: %s", shown, f.stopped) : verdict_code(verdict_of(&v));
    findings_free(&f);
    return result;
}

static int explain_all(char **names, int count, const struct form *form) {
    int result = 0;
    for (int i = 0; i < count; i++) {
        if (!form->json && i > 0)
            putchar('\n');
        int one = explain_one(names[i], form);
        result = i == 0 ? one : verdict_worst(result, one);
    }
    return result;
}

/* ---- the verb -------------------------------------------------------- */

static int as_json(FILE *out, char **names, int count) {
    struct json json = json_begin(out);
    json_array(&json, NULL);
    int result = explain_all(names, count, &(struct form){.json = &json});
    json_array_end(&json);
    json_end(&json);
    return result;
}

static int as_page(const char *path, char **names, int count) {
    struct render page;
    int failed = render_begin(&page, path);
    if (failed)
        return failed;
    int result = as_json(page.json, names, count);
    int drawn = render_end(&page, result != EXIT_OWN);
    return drawn ? drawn : result;
}

static int explain(int argc, char **argv) {
    struct args a = args_begin(&verb_explain, argc, argv);
    bool json = false, ladder = false;
    const char *page = NULL;
    const struct args_option options[] = {
        {"--json", &json, NULL}, {"--ladder", &ladder, NULL}, {"--html", NULL, &page}, {0}};
    int files = 0, result = 0;
    enum args_kind kind;
    while ((kind = args_next(&a)) != ARGS_END) {
        if (kind == ARGS_WORD)
            argv[files++] = argv[a.at - 1]; /* words move to the front */
        else if (!args_take(&a, options))
            return args_unknown(&a);
    }
    if (files == 0)
        return complain("no file: give a capture (pcap, pcapng) or a log of strace; try --help");
    if (json + ladder + (page != NULL) > 1)
        return complain("--json, --html and --ladder: choose one of them");
    if (json)
        result = as_json(stdout, argv, files);
    else if (page)
        result = as_page(page, argv, files);
    else
        result = explain_all(argv, files, &(struct form){.ladder = ladder});
    int written = finish_output();
    return written ? written : result;
}

const struct verb verb_explain = {
    .name = "explain",
    .summary = "Find the stalls in a packet capture or a log of strace",
    .usage = "[--json|--ladder|--html FILE] FILE...",
    .help = "Reads files of two kinds, told apart by their content (\"-\": standard input):\n"
            "  a packet capture (pcap, pcapng), as of\n"
            "      tcpdump -i any -s 128 -w FILE tcp port 80\n"
            "  a log of strace with times, as of\n"
            "      strace -f -tt -T -yy -o FILE -p PID      (-ttt and -r do as well)\n"
            "Says which side writes in pieces, what the waits cost, where to look them up,\n"
            "and what cures them. In a capture a stall is proved, in a log it is likely.\n"
            "\n"
            "  --json       an array with an object for each file\n"
            "  --ladder     the verdict, and one exchange drawn as a ladder\n"
            "  --html FILE  the report as a page with pictures (\"-\": standard output);\n"
            "               none is written if a file is damaged\n"
            "  --help       this text\n"
            "\n"
            "Exit codes: 0 no stall, 1 stalls, 2 it cannot be told, 125 a file was not read\n"
            "to its end.\n",
    .run = explain,
};
