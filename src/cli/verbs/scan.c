/* SPDX-License-Identifier: MIT
 *
 * unstall scan: chooses the source, runs it for its time, and reports.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "errors.h"
#include "process_stat.h"
#include "render.h"
#include "survey.h"
#include "terminal.h"
#include "unit.h"

struct scan {
    struct survey survey;
    double seconds; /* 0: until a signal */
    bool json, watch, timed;
    const char *page; /* the file of --html */
    struct scan_process container;
    char cgroup[SCAN_CGROUP];
};

/* As many rows as leave the verdict on the screen.  Besides the head, the lines around them are at most so
 * many; a row of a narrow table has two. */
static size_t rows_on_screen(const struct survey *s) {
    enum { AROUND = 10, MOST = 20 };
    int room = terminal_height(stdout) - AROUND - scan_head_lines(s, stdout);
    int rows = room / (terminal_width(stdout) < 80 ? 2 : 1);
    return rows < 1 ? 1 : rows > MOST ? MOST : (size_t)rows;
}

/* Writes the present table; on a terminal it replaces the last one. */
static int show(struct survey *s) {
    bool terminal = has_colours(stdout);
    s->rows_shown = terminal ? rows_on_screen(s) : 0;
    fputs(terminal ? "\033[H\033[2J" : "", stdout);
    survey_report(stdout, s, false);
    s->rows_shown = 0;
    fputs(terminal ? "\nCtrl-C ends this and reports\n" : "\n", stdout);
    return finish_output() ? -EPIPE : 0;
}

/* The file of the page is opened before the scan, so that a path that cannot be written is said at once. */
static int report(struct scan *s) {
    struct survey *v = &s->survey;
    struct render page = {.json = stdout};
    if (s->page && render_begin(&page, s->page) != 0)
        return EXIT_OWN;
    if (isatty(STDERR_FILENO) && !s->watch)
        remark("looking at %s for %g s; Ctrl-C ends it and reports", v->scope, s->seconds);
    int failed = survey_look(v, s->timed || !s->watch ? s->seconds : 0, s->watch ? show : NULL);
    if (failed)
        complain("the scan has failed: %s", strerror(-failed));
    else
        survey_report(page.json, v, s->json || s->page);
    if (s->page && render_end(&page, !failed) != 0)
        return EXIT_OWN;
    if (failed || finish_output() != 0)
        return EXIT_OWN;
    return verdict_code(verdict_of(&v->verdict));
}

static int take_process(struct scan *s, pid_t pid) {
    char why[PROCESS_WHY];
    if (process_refused(pid, why))
        return complain("%s", why);
    s->survey.filter.pid = s->survey.options.namespace_of = pid;
    snprintf(s->survey.scope, sizeof(s->survey.scope), "process %d", (int)pid);
    return 0;
}

static int take_container(struct scan *s, const char *which) {
    char why[CONTAINER_WHY];
    pid_t pid = scan_container_pid(which, why);
    if (pid == 0)
        return complain("%s", why);
    scan_process_of(pid, &s->container);
    s->survey.filter.cgroup = s->container.cgroup;
    s->survey.options.namespace_of = pid;
    snprintf(s->survey.scope, sizeof(s->survey.scope), "container %.100s", which);
    return 0;
}

/* A name that matches nothing would make a scan without a finding, as if all were well. */
static int take_cgroup(struct scan *s, const char *option, const char *which) {
    if (!scan_cgroup_find(which, s->cgroup))
        return complain("%s %s: no process runs in such a cgroup or unit; %s%s", option, which,
                        s->cgroup[0] ? "the nearest is " : "systemd-cgls lists them", s->cgroup);
    s->survey.filter.cgroup = s->cgroup;
    snprintf(s->survey.scope, sizeof(s->survey.scope), "cgroup %.100s", s->cgroup);
    return 0;
}

static int take_option(struct scan *s, struct args *a) {
    char unit[UNIT_ROOM];
    const char *value = NULL;
    long number = 0;
    if (args_flag(a, "--json")) {
        s->json = true;
    } else if (args_value(a, "--time", &value)) {
        s->timed = true;
        return seconds_of("--time", value, 86400, &s->seconds) ? 0 : EXIT_OWN;
    } else if (args_value(a, "--html", &s->page)) {
        return 0;
    } else if (args_flag(a, "--watch")) {
        s->watch = true;
    } else if (args_value(a, "--pid", &value)) {
        if (!number_of("--pid", value, 1, INT_MAX, &number))
            return EXIT_OWN;
        return take_process(s, (pid_t)number);
    } else if (args_value(a, "--cgroup", &value)) {
        return take_cgroup(s, "--cgroup", value);
    } else if (args_value(a, "--unit", &value)) {
        int failed = unit_name(value, unit);
        return failed ? failed : take_cgroup(s, "--unit", unit);
    } else if (args_value(a, "--container", &value)) {
        return take_container(s, value);
    } else if (args_value(a, "--port", &value)) {
        if (!number_of("--port", value, 1, UINT16_MAX, &number))
            return EXIT_OWN;
        s->survey.options.port = (uint16_t)number;
        snprintf(s->survey.scope, sizeof(s->survey.scope), "port %ld", number);
    } else if (args_value(a, "--verbose", &value)) {
        if (!number_of("--verbose", value, 0, 2, &number))
            return EXIT_OWN;
        s->survey.options.verbose = (int)number;
    } else if (args_value(a, "--source", &value)) {
        if (strcmp(value, "exact") != 0 && strcmp(value, "sampled") != 0)
            return complain("--source %s: expected exact or sampled", value);
        s->survey.source_wanted = value;
    } else {
        return args_unknown(a);
    }
    return 0;
}

static int run(int argc, char **argv) {
    struct args a = args_begin(&verb_scan, argc, argv);
    struct scan s = {.seconds = 10, .survey = {.options = {.places = true}, .scope = "this host"}};
    char error[SCAN_ERROR] = "";
    enum args_kind kind;
    int failed;
    while ((kind = args_next(&a)) != ARGS_END) {
        if (kind == ARGS_WORD)
            return complain("%s: scan takes options only; try --help", a.word);
        if ((failed = take_option(&s, &a)))
            return failed;
    }
    if (s.json && s.watch)
        return complain("--json and --watch: choose one of them");
    if (s.page && (s.json || s.watch))
        return complain("--html and %s: choose one of them", s.json ? "--json" : "--watch");
    if (!survey_begin(&s.survey, error))
        return complain("%s", error);
    int code = report(&s);
    survey_end(&s.survey);
    return code;
}

const struct verb verb_scan = {
    .name = "scan",
    .summary = "Find the processes of this host that stall; nothing is touched",
    .usage = "[OPTION]...",
    .help = "  --time SECONDS    how long to look, or until Ctrl-C (10)\n"
            "  --watch           show the table every second, for --time or until Ctrl-C\n"
            "  --pid PID         connections of this process only, as sender or receiver\n"
            "  --cgroup CGROUP   of the processes in this cgroup: its path, or a unit\n"
            "  --unit NAME       of this unit of systemd: NAME or NAME.service\n"
            "  --container NAME  of the processes in this container, by name or id\n"
            "  --port PORT       connections that have this port on one of their sides\n"
            "  --source SOURCE   exact or sampled; without it: exact where it may be used\n"
            "  --json            for programs\n"
            "  --html FILE       the report as a page (\"-\": standard output)\n"
            "  --verbose LEVEL   0, 1 or 2: 2 shows why the kernel refuses the BPF program\n"
            "\n"
            "Exit codes: 0 no stall, 1 stalls, 2 it cannot be told, 125 the command failed.\n",
    .run = run,
};
