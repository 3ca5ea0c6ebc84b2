/* SPDX-License-Identifier: MIT */
#include "survey.h"

#include <errno.h>
#include <signal.h>

#include "late.h"

enum {
    SLICE_MS = 1000,
    SOON_MS = 200,
    DESCRIPTORS_FIRST = 5000,
    TRAFFIC_SHARE = 1000, /* exchanges are counted again after so many times as long as that took */
};

static volatile sig_atomic_t stop;

static void on_signal(int number) {
    (void)number;
    stop = 1;
}

void survey_catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool survey_begin(struct survey *s, char error[SCAN_ERROR]) {
    s->options.places_of = s->filter.pid;
    s->state = scan_source_begin(s->source_wanted, &s->options, &s->source, s->not_exact, error);
    if (s->state)
        scan_traffic_begin(&s->traffic, &s->filter, s->options.port, s->options.namespace_of);
    return s->state != NULL;
}

/* Three stalls would have been met: each list of sockets meets one that lasts as long as a delayed
 * acknowledgement by its share of the time between two lists. */
static uint64_t enough(const struct scan_result *r) {
    uint64_t needed = VERDICT_LEAST * r->dump_every_ns / (LATE_DELAY_MS * UINT64_C(1000000)) + 1;
    return r->kind == SCAN_SAMPLED && needed > VERDICT_LEAST ? needed : VERDICT_LEAST;
}

static void judge(struct survey *s) {
    const struct scan_traffic *t = &s->traffic;
    double stalls = s->table.all.count;
    s->verdict = (struct verdict){.stalls = stalls > 0 && stalls < 1 ? 1 : (uint64_t)(stalls + 0.5),
                                  .exchanges = t->exchanges,
                                  .firsts = t->firsts,
                                  .least = enough(&s->result),
                                  .estimated = true};
    verdict_because(&s->verdict, "%s", t->because);
}

static bool is_over(const struct survey *s, uint64_t end) {
    bool gone = s->ends_with && kill(s->ends_with, 0) != 0 && errno == ESRCH;
    return stop || gone || scan_now() >= end;
}

/* Scans in slices and looks for processes after each, so that the process of a short connection
 * still runs.  A descriptor takes 2 us: 1000 a second are 0.2 % of a core, and the first 5000 take
 * 10 ms once.  The last slice looks at all. */
int survey_look(struct survey *s, double seconds, int (*show)(struct survey *s)) {
    uint64_t begin = scan_now(), slice = s->ends_with ? SOON_MS : SLICE_MS;
    uint64_t end = seconds > 0 ? begin + (uint64_t)(seconds * 1e9) : UINT64_MAX;
    for (;;) {
        uint64_t until = scan_now() + slice * 1000000;
        int failed = s->source->run(s->state, until < end ? until : end, &stop);
        if (failed || (failed = s->source->collect(s->state, &s->result)))
            return failed;
        bool last = is_over(s, end);
        if (last || scan_now() >= s->traffic.looked_ns + s->traffic.cost_ns * TRAFFIC_SHARE)
            scan_traffic_look(&s->traffic);
        size_t most =
            last ? SIZE_MAX : DESCRIPTORS_FIRST + (size_t)((scan_now() - begin) / 1000000);
        failed = scan_table_learn(&s->table, &s->result, most);
        if (!failed && (last || show)) {
            failed = scan_table_make(&s->table, &s->result, &s->filter);
            judge(s);
        }
        if (!failed && show && !last)
            failed = show(s);
        if (failed)
            return failed;
        if (last)
            break;
        scan_result_free(&s->result);
    }
    s->places = s->source->places ? s->source->places(s->state, &s->table) : NULL;
    return 0;
}

void survey_report(FILE *out, const struct survey *s, bool json) {
    if (json)
        scan_report_json(out, s);
    else
        scan_report_text(out, s);
}

void survey_end(struct survey *s) {
    scan_result_free(&s->result);
    scan_table_end(&s->table);
    scan_traffic_end(&s->traffic);
    if (s->state)
        s->source->end(s->state);
}
