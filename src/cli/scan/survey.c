/* SPDX-License-Identifier: MIT */
#include "survey.h"

#include <errno.h>
#include <string.h>

#include "array.h"
#include "late.h"
#include "process_stat.h"

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

/* Before all else, which takes a second on a busy machine: a signal then ends the scan, with its report. */
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- exchanges ---------------------------------------------------------------- */

/* One end of a connection.  Both ends of one within this host have the same addresses, in order. */
struct traffic_end {
    struct stats_address address[2];
    uint32_t cookie[2];
    uint64_t inode;
    uint32_t data_in, data_out;
};

struct look {
    const struct scan_traffic *t;
    struct traffic_end *list;
    size_t count;
    bool full; /* no memory for more */
};

static int order(const void *a, const void *b) {
    const struct traffic_end *x = a, *y = b;
    int by_address = memcmp(x->address, y->address, sizeof(x->address));
    return by_address ? by_address : memcmp(x->cookie, y->cookie, sizeof(x->cookie));
}

static bool is_other_end(const struct traffic_end *a, const struct traffic_end *b) {
    return memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

static void take(const struct scan_listed *l, void *arg) {
    struct look *k = arg;
    if (!scan_has_port(&l->key.local, &l->key.peer, k->t->port))
        return;
    bool ordered = memcmp(&l->key.local, &l->key.peer, sizeof(l->key.local)) < 0;
    struct traffic_end e = {
        .inode = l->sample.inode, .data_in = l->sample.data_in, .data_out = l->sample.data_out};
    e.address[!ordered] = l->key.local;
    e.address[ordered] = l->key.peer;
    memcpy(e.cookie, l->key.cookie, sizeof(e.cookie));
    k->full |= !ARRAY_ADD(k->list, k->count, e);
}

/* ---- whose they are ----------------------------------------------------------- */

static bool is_wanted(const struct scan_filter *f, const struct scan_process *p) {
    return p && (f->pid ? p->pid == f->pid : scan_cgroup_matches(p->cgroup, f->cgroup));
}

/* Leaves in the list the connections of which one end is a wanted process's. */
static void choose(struct scan_traffic *t, struct look *k) {
    size_t kept = 0, left = SIZE_MAX, known = 0;
    FREED struct scan_owner *owners = calloc(k->count + 1, sizeof(*owners));
    k->full |= !owners;
    if (!owners)
        return;
    for (size_t i = 0; i < k->count; i++)
        owners[i].inode = k->list[i].inode;
    scan_owners_find(owners, k->count, &left);
    for (size_t i = 0, next; i < k->count; i = next) {
        bool wanted = false;
        for (next = i; next < k->count && is_other_end(&k->list[i], &k->list[next]); next++) {
            const struct scan_process *p = scan_owner_of(owners, k->count, k->list[next].inode);
            wanted |= is_wanted(&t->filter, p);
            known += p != NULL;
        }
        for (size_t at = i; wanted && at < next; at++)
            k->list[kept++] = k->list[at];
    }
    if (!t->filter.pid && known < k->count && geteuid() != 0)
        snprintf(t->because, sizeof(t->because), "the processes of other users may not be looked at");
    k->count = kept;
}

static bool may_look_at(pid_t pid) {
    char name[PROCESS_PATH];
    return access(process_path(pid, "fd", name), R_OK) == 0 || errno == ENOENT;
}

/* ---- the numbers -------------------------------------------------------------- */

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t grown(const struct scan_traffic *t, const struct traffic_end *now, bool *is_new) {
    const struct traffic_end *old =
        t->before_count ? bsearch(now, t->before, t->before_count, sizeof(*now), order) : NULL;
    *is_new = !old;
    return old ? smaller(now->data_in - old->data_in, now->data_out - old->data_out)
               : smaller(now->data_in, now->data_out);
}

static void count(struct scan_traffic *t, const struct look *k) {
    for (size_t i = 0, next; i < k->count; i = next) {
        uint64_t most = 0;
        bool is_new = false;
        for (next = i; next < k->count && is_other_end(&k->list[i], &k->list[next]); next++) {
            uint64_t exchanges = grown(t, &k->list[next], &is_new);
            most = exchanges > most ? exchanges : most;
        }
        t->exchanges += most;
        t->firsts += is_new && most > 0;
    }
}

static void look_at_traffic(struct scan_traffic *t) {
    uint64_t began = scan_own_time();
    struct look k = {.t = t};
    int failed = t->diag ? scan_diag_dump(t->diag, SCAN_COUNTED, take, &k) : 0;
    if (k.count)
        qsort(k.list, k.count, sizeof(*k.list), order);
    if (failed >= 0 && (t->filter.pid || t->filter.cgroup))
        choose(t, &k);
    if (failed < 0 || k.full)
        snprintf(t->because, sizeof(t->because), "the exchanges could not be counted (%s)",
                 strerror(k.full ? ENOMEM : -failed));
    else if (t->looked)
        count(t, &k);
    t->looked = true;
    free(t->before);
    t->before = k.list;
    t->before_count = k.count;
    t->cost_ns = scan_own_time() - began;
    t->looked_ns = scan_now();
}

static void begin_traffic(struct scan_traffic *t, const struct scan_filter *filter, uint16_t port,
                        pid_t namespace_of) {
    *t = (struct scan_traffic){.filter = *filter, .port = port};
    int failed = scan_diag_open(&t->diag, namespace_of);
    if (failed)
        snprintf(t->because, sizeof(t->because), "the exchanges could not be counted (%s)",
                 strerror(-failed));
    else if (filter->pid && !may_look_at(filter->pid))
        snprintf(t->because, sizeof(t->because), "the connections of process %d may not be looked at",
                 (int)filter->pid);
    look_at_traffic(t);
}

static void end_traffic(struct scan_traffic *t) {
    scan_diag_close(t->diag);
    free(t->before);
    *t = (struct scan_traffic){0};
}

/* ---- the survey ---------------------------------------------------------------- */

bool survey_begin(struct survey *s, char error[SCAN_ERROR]) {
    catch_signals();
    s->options.places_of = s->filter.pid;
    s->state = scan_source_begin(s->source_wanted, &s->options, &s->source, s->not_exact, error);
    if (s->state)
        begin_traffic(&s->traffic, &s->filter, s->options.port, s->options.namespace_of);
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
    if (s->result.lost && !t->because[0] && !s->filter.pid && !s->filter.cgroup)
        verdict_because(&s->verdict, "not every event of the kernel was seen");
    else if (s->result.unwatched && !t->because[0])
        verdict_because(&s->verdict, "sockets that held data could not be watched");
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
            look_at_traffic(&s->traffic);
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
    end_traffic(&s->traffic);
    if (s->state)
        s->source->end(s->state);
}
