/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "format.h"
#include "host.h"
#include "metrics.h"

struct page {
    FILE *out;
    enum metrics_form form;
};

typedef double value_fn(const struct scan_series *s);

static double stalls(const struct scan_series *s) {
    return s->told.stalls;
}

static double stall_seconds(const struct scan_series *s) {
    return s->told.lost_ns / 1e9;
}

static double one_way_stalls(const struct scan_series *s) {
    return s->told.one_way;
}

/* True for a series to print: all but `others` while it has counted nothing. */
static bool is_told(const struct scan_ledger *l, size_t which) {
    const struct scan_sums *t = &l->series[which].told;
    return which != LEDGER_OTHERS || t->stalls > 0 || t->one_way > 0;
}

static void series(const struct page *p, const struct scan_host_state *s, const char *name,
                   const char *unit, const char *help, value_fn *value) {
    openmetrics_family(p->out, p->form, name, "counter", unit, help);
    for (size_t i = 0; i < s->ledger->series_count; i++) {
        const struct scan_series *one = &s->ledger->series[i];
        char labels[512] = "", text[SCAN_UNIT + SCAN_PROGRAM], user[16] = "";
        if (!is_told(s->ledger, i))
            continue;
        if (i != LEDGER_OTHERS)
            snprintf(user, sizeof(user), "%" PRIu32, one->uid);
        openmetrics_label(labels, sizeof(labels), "unit", safe_text(one->unit, text, sizeof(text)));
        openmetrics_label(labels, sizeof(labels), "container", one->container);
        openmetrics_label(labels, sizeof(labels), "program",
                          safe_text(one->program, text, sizeof(text)));
        openmetrics_label(labels, sizeof(labels), "user", user);
        openmetrics_label(labels, sizeof(labels), "source", scan_kind_name(s->kind));
        fprintf(p->out, "unstall_%s_total{%s} %.12g\n", name, labels, value(one));
    }
}

static void state(const struct page *p, const struct scan_host_state *s) {
    char labels[1024] = "", text[SCAN_ERROR];
    openmetrics_label(labels, sizeof(labels), "source", scan_kind_name(s->kind));
    openmetrics_label(labels, sizeof(labels), "not_exact",
                      safe_text(s->not_exact, text, sizeof(text)));
    openmetrics_label(labels, sizeof(labels), "processes", s->sees_all ? "all" : "own");
    openmetrics_label(labels, sizeof(labels), "version", UNSTALL_VERSION);
    openmetrics_family(
        p->out, p->form, "host", "info", NULL,
        "how the host is looked at: the source, why it is not exact, whose processes");
    fprintf(p->out, "unstall_host_info{%s} 1\n", labels);
    openmetrics_family(p->out, p->form, "host_up", "gauge", NULL,
                       "1 while the host is looked at, 0 where the source has failed");
    fprintf(p->out, "unstall_host_up %d\n", s->failure[0] == '\0');
    openmetrics_family(p->out, p->form, "host_connections", "gauge", NULL,
                       "connections that stalled lately");
    fprintf(p->out, "unstall_host_connections %zu\n", s->ledger->count);
    openmetrics_family(p->out, p->form, "host_lost_events", "counter", NULL,
                       "stalls that may have been, and were not seen (exact)");
    fprintf(p->out, "unstall_host_lost_events_total %" PRIu64 "\n", s->lost);
    openmetrics_family(p->out, p->form, "host_own_cpu_seconds", "counter", "seconds",
                       "processor time of this scan");
    fputs("unstall_host_own_cpu_seconds_total ", p->out);
    openmetrics_seconds(p->out, s->own_time_ns);
    fputc('\n', p->out);
}

static void write_page(const struct scan_host_state *s, void *arg) {
    const struct page *p = arg;
    state(p, s);
    series(p, s, "host_stalls", NULL, "stalls of connections that are answered", stalls);
    series(p, s, "host_stall_seconds", "seconds", "how long these stalls were together",
           stall_seconds);
    series(p, s, "host_one_way_stalls", NULL,
           "stalls of streams without an answer, which are buffered on purpose", one_way_stalls);
    if (p->form == METRICS_OPEN)
        fputs("# EOF\n", p->out);
}

void host_metrics_write(FILE *out, struct scan_host *h, enum metrics_form form) {
    struct page p = {out, form};
    scan_host_read(h, write_page, &p);
}
