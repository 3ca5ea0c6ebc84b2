/* SPDX-License-Identifier: MIT
 *
 * unstall metrics: the segments of a folder as metrics, once or over HTTP.
 */
#include "metrics.h"

#include <string.h>

#include "args.h"
#include "errors.h"
#include "http.h"
#include "verbs.h"

static int print(const char *folder) {
    struct stats_files s;
    int failed = stats_files_open(&s, folder, READ_ROWS, true);
    if (failed)
        return failed;
    bool written = metrics_write(stdout, &s, METRICS_OPEN);
    stats_files_close(&s);
    return written ? finish_output() : complain("no memory");
}

/* Writes the form that the client accepts; without an Accept header, the older one. */
static struct http_answer render(FILE *body, const char *request, const void *folder) {
    bool open = strcasestr(request, "application/openmetrics-text") != NULL;
    struct stats_files s;
    if (stats_files_open(&s, folder, READ_ROWS, true) != 0) {
        fputs("The folder cannot be read.\n", body);
        return (struct http_answer){HTTP_UNAVAILABLE, HTTP_PLAIN_TEXT};
    }
    bool written = metrics_write(body, &s, open ? METRICS_OPEN : METRICS_TEXT);
    stats_files_close(&s);
    if (!written) {
        fputs("No memory.\n", body);
        return (struct http_answer){HTTP_UNAVAILABLE, HTTP_PLAIN_TEXT};
    }
    return (struct http_answer){"200 OK",
                                open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                     : "text/plain; version=0.0.4; charset=utf-8"};
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

static int run(int argc, char **argv) {
    struct args a = args_begin(&verb_metrics, argc, argv);
    const char *word = NULL, *where = NULL;
    enum args_kind kind;
    while ((kind = args_next(&a)) != ARGS_END) {
        if (kind == ARGS_OPTION && !args_value(&a, "--listen", &where))
            return args_unknown(&a);
        if (kind == ARGS_WORD && !args_one_word(&a, "DIR", &word))
            return EXIT_OWN;
    }
    if (!word)
        return args_no_word("DIR");
    return where ? serve(word, where) : print(word);
}

const struct verb verb_metrics = {
    .name = "metrics",
    .summary = "Give the statistics to Prometheus and its like, as OpenMetrics",
    .usage = "[--listen [ADDRESS:]PORT] DIR",
    .help = "  --listen [ADDRESS:]PORT  serve http://ADDRESS:PORT/metrics until SIGTERM;\n"
            "                           without ADDRESS for this machine alone (127.0.0.1)\n"
            "\n"
            "DIR is the folder that UNSTALL_STATS named. Without --listen they are written to\n"
            "stdout once.\n",
    .run = run,
};
