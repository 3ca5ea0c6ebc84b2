/* SPDX-License-Identifier: MIT
 *
 * unstall scan: chooses the source, runs it for its time, and reports.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "choose.h"
#include "errors.h"
#include "terminal.h"
#include "scan_report.h"
#include "source.h"
#include "scan_table.h"
#include "verbs.h"

enum { SLICE_MS = 1000, EXIT_STALLS = 1 };

struct scan {
    struct scan_options options;
    struct scan_filter filter;
    const char *source_wanted; /* "exact", "sampled", or NULL: the best one */
    double seconds;            /* 0: until a signal */
    bool json, watch, timed;
    const struct scan_source *source;
    void *state;
    char not_exact[SCAN_ERROR];
    char scope[128];
    struct scan_process container;
};

static volatile sig_atomic_t stop;

static void on_signal(int number) {
    (void)number;
    stop = 1;
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL); /* the second one ends us at once */
    sigaction(SIGTERM, &action, NULL);
}

/* The table as it is by now, on a terminal in the place of the last one. */
static int show(const struct scan *s, struct scan_table *t, const struct scan_result *r) {
    int failed = scan_table_make(t, r, &s->filter);
    struct scan_report told = {r, t, s->not_exact[0] ? s->not_exact : NULL, s->scope};
    bool terminal = has_colours(stdout);
    if (failed)
        return failed;
    fputs(terminal ? "\033[H\033[2J" : "", stdout);
    scan_report_text(stdout, &told);
    fputs(terminal ? "" : "\n", stdout);
    return finish_output() ? -EPIPE : 0;
}

/* One slice after the other, so that the processes of short connections are looked for while
 * they live.  That takes 2 us for each descriptor: 1000 a second are 0.2 % of a core.  At the end
 * all are looked at. */
static int look(struct scan *s, struct scan_table *t, struct scan_result *r) {
    uint64_t begin = scan_now();
    uint64_t end = s->timed || !s->watch ? begin + (uint64_t)(s->seconds * 1e9) : UINT64_MAX;
    int failed = 0;
    while (!failed && !stop && scan_now() < end) {
        uint64_t slice = scan_now() + (uint64_t)SLICE_MS * 1000000;
        failed = s->source->run(s->state, slice < end ? slice : end, &stop);
        if (failed || (failed = s->source->collect(s->state, r)))
            return failed;
        uint64_t before = scan_now();
        bool last = stop || before >= end;
        failed = scan_table_learn(t, r, last ? SIZE_MAX : (size_t)((before - begin) / 1000000));
        if (!failed && s->watch && !last)
            failed = show(s, t, r);
        if (!last)
            scan_result_free(r);
    }
    return failed;
}

static int report(struct scan *s) {
    struct scan_table table = {.owners = NULL};
    struct scan_result result = {.count = 0};
    int failed = look(s, &table, &result);
    if (!failed && result.ended_ns == 0)
        failed = s->source->collect(s->state, &result);
    if (!failed)
        failed = scan_table_make(&table, &result, &s->filter);
    if (failed)
        return complain("the scan has failed: %s", strerror(-failed));
    struct scan_report told = {&result, &table, s->not_exact[0] ? s->not_exact : NULL, s->scope};
    if (s->json)
        scan_report_json(stdout, &told);
    else
        scan_report_text(stdout, &told);
    int code = table.count > table.one_way ? EXIT_STALLS : 0;
    scan_result_free(&result);
    scan_table_end(&table);
    failed = finish_output();
    return failed ? failed : code;
}

static int begin(struct scan *s) {
    char error[SCAN_ERROR] = "";
    s->state = scan_source_begin(s->source_wanted, &s->options, &s->source, s->not_exact, error);
    return s->state ? 0 : complain("%s", error);
}

static int take_process(struct scan *s, pid_t pid) {
    struct scan_process p;
    scan_process_of(pid, &p);
    if (!p.program[0])
        return complain("%d: no such process; give the id of a running one", (int)pid);
    s->filter.pid = s->options.namespace_of = pid;
    snprintf(s->scope, sizeof(s->scope), "process %d", (int)pid);
    return 0;
}

static int take_container(struct scan *s, const char *which) {
    pid_t pid = scan_container_pid(which);
    if (pid == 0)
        return complain("%s: no such container runs; give its name or the beginning of its id",
                        which);
    scan_process_of(pid, &s->container);
    s->filter.cgroup = s->container.cgroup;
    s->options.namespace_of = pid;
    snprintf(s->scope, sizeof(s->scope), "container %.100s", which);
    return 0;
}

static int take_option(struct scan *s, struct args *a) {
    const char *value = NULL;
    long number = 0;
    if (args_flag(a, "--json")) {
        s->json = true;
    } else if (args_value(a, "--time", &value)) {
        s->timed = true;
        return seconds_of("--time", value, 86400, &s->seconds) ? 0 : EXIT_OWN;
    } else if (args_flag(a, "--watch")) {
        s->watch = true;
    } else if (args_value(a, "--pid", &value)) {
        if (!number_of("--pid", value, 1, INT_MAX, &number))
            return EXIT_OWN;
        return take_process(s, (pid_t)number);
    } else if (args_value(a, "--cgroup", &value)) {
        s->filter.cgroup = value;
        snprintf(s->scope, sizeof(s->scope), "cgroup %.100s", value);
    } else if (args_value(a, "--container", &value)) {
        return take_container(s, value);
    } else if (args_value(a, "--port", &value)) {
        if (!number_of("--port", value, 1, UINT16_MAX, &number))
            return EXIT_OWN;
        s->options.port = (uint16_t)number;
        snprintf(s->scope, sizeof(s->scope), "port %ld", number);
    } else if (args_value(a, "--verbose", &value)) {
        if (!number_of("--verbose", value, 0, 2, &number))
            return EXIT_OWN;
        s->options.verbose = (int)number;
    } else if (args_value(a, "--source", &value)) {
        if (strcmp(value, "exact") != 0 && strcmp(value, "sampled") != 0)
            return complain("--source %s: expected exact or sampled", value);
        s->source_wanted = value;
    } else {
        return args_unknown(a);
    }
    return 0;
}

static int run(int argc, char **argv) {
    struct args a = args_begin(&verb_scan, argc, argv);
    struct scan s = {.seconds = 10, .scope = "this host"};
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
    if ((failed = begin(&s)))
        return failed;
    catch_signals();
    int code = report(&s);
    s.source->end(s.state);
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
            "  --container NAME  of the processes in this container, by name or id\n"
            "  --port PORT       connections that have this port on one of their sides\n"
            "  --source SOURCE   exact or sampled; without it: exact where it may be used\n"
            "  --json            for programs\n"
            "  --verbose LEVEL   0, 1 or 2: 2 shows why the kernel refuses the BPF program\n"
            "\n"
            "Ends with 1 if something stalls, with 0 if nothing was seen to.\n",
    .run = run,
};
