/* SPDX-License-Identifier: MIT
 *
 * unstall metrics: the statistics files of a folder as metrics, once or over HTTP; or all stalls of the
 * host.
 */
#include "metrics.h"

#include <string.h>

#include "args.h"
#include "errors.h"
#include "host.h"
#include "http.h"

/* ---- the form that the client accepts -------------------------------------- */

/* Without an Accept header, the older one. */
static enum metrics_form form_of(const char *request) {
    return strcasestr(request, "application/openmetrics-text") ? METRICS_OPEN : METRICS_TEXT;
}

static struct http_answer answer_in(enum metrics_form form) {
    return (struct http_answer){"200 OK",
                                form == METRICS_OPEN
                                    ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                    : "text/plain; version=0.0.4; charset=utf-8"};
}

/* ---- a folder ---------------------------------------------------------------- */

static int print(const char *folder) {
    struct stats_files s;
    int failed = stats_files_open(&s, folder, READ_ROWS, true);
    if (failed || (failed = stats_files_may_come(&s, folder)))
        return failed;
    bool written = metrics_write(stdout, &s, METRICS_TEXT); /* for the textfile collector */
    stats_files_close(&s);
    return written ? finish_output() : complain("no memory");
}

static struct http_answer render(FILE *body, const char *request, const void *folder) {
    struct stats_files s;
    if (stats_files_open(&s, folder, READ_ROWS, true) != 0) {
        fputs("The folder cannot be read.\n", body);
        return (struct http_answer){HTTP_UNAVAILABLE, HTTP_PLAIN_TEXT};
    }
    bool written = metrics_write(body, &s, form_of(request));
    stats_files_close(&s);
    if (!written) {
        fputs("No memory.\n", body);
        return (struct http_answer){HTTP_UNAVAILABLE, HTTP_PLAIN_TEXT};
    }
    return answer_in(form_of(request));
}

static int serve(const char *folder, const char *where) {
    struct http_page page = {.path = "/metrics", .render = render, .context = folder};
    struct stats_files s;
    int failed =
        stats_files_open(&s, folder, READ_ROWS, true); /* complain now, not at the first request */
    if (failed)
        return failed;
    stats_files_close(&s);
    return http_serve(where, &page);
}

/* ---- the host ------------------------------------------------------------------ */

static struct scan_host *host;

static struct http_answer render_host(FILE *body, const char *request, const void *context) {
    (void)context;
    host_metrics_write(body, host, form_of(request));
    return answer_in(form_of(request));
}

static void say_limits(const struct scan_host_state *s, void *arg) {
    (void)arg;
    if (s->not_exact[0])
        remark("source sampled: numbers are estimates; not exact: %s", s->not_exact);
    if (!s->sees_all)
        remark("without CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH: of processes of other users %s",
               s->kind == SCAN_EXACT ? "it sees the name, not the file of the program"
                                     : "it sees the user, not the program");
}

static int serve_host(const char *source, const char *where) {
    struct http_page page = {.path = "/metrics", .render = render_host};
    struct scan_options options = {.port = 0};
    char error[SCAN_ERROR] = "";
    sigset_t ends;
    if (source && strcmp(source, "exact") != 0 && strcmp(source, "sampled") != 0)
        return complain("--source %s: expected exact or sampled", source);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* in the scan's thread too: http_serve() takes them */
    host = scan_host_begin(source, &options, error);
    if (!host)
        return complain("%s", error);
    scan_host_read(host, say_limits, NULL);
    int failed = http_serve(where, &page);
    scan_host_end(host);
    return failed;
}

/* ---- the command line ------------------------------------------------------------ */

static int run(int argc, char **argv) {
    static const char what[] = "DIR or SERVICE";
    const char *word = NULL, *where = NULL, *source = NULL;
    bool of_host = false;
    const struct args_option options[] = {
        {"--host", &of_host, NULL}, {"--listen", NULL, &where}, {"--source", NULL, &source}, {0}};
    if (!args_all(&verb_metrics, argc, argv, options, what, &word))
        return EXIT_OWN;
    if (of_host && word)
        return complain("--host and %s: choose one of them", word);
    if (of_host && !where)
        return complain("--host: its counters grow while it runs; give --listen [ADDRESS:]PORT");
    if (source && !of_host)
        return complain("--source: only with --host");
    if (of_host)
        return serve_host(source, where);
    if (!word)
        return args_no_word(what);
    return where ? serve(word, where) : print(word);
}

const struct verb verb_metrics = {
    .name = "metrics",
    .summary = "Give statistics, or all stalls of the host, to Prometheus",
    .usage = "[--listen [ADDRESS:]PORT] DIR | --host [OPTION]...",
    .help = "  --listen [ADDRESS:]PORT  serve http://ADDRESS:PORT/metrics until SIGTERM;\n"
            "                           without ADDRESS for this machine alone (127.0.0.1)\n"
            "  --host                   all stalls of the host, as unstall scan finds them;\n"
            "                           by unit, container, program and user\n"
            "  --source SOURCE          exact or sampled; of --host, without it: exact where\n"
            "                           it may be used\n"
            "\n"
            "DIR is the folder that UNSTALL_STATS named, or a service that was enabled with\n"
            "--stats. Without --listen the statistics are written to stdout once, in the\n"
            "text format of Prometheus, as the textfile collector of node_exporter and\n"
            "promtool take it.\n",
    .run = run,
};
