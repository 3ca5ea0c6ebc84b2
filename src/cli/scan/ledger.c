/* SPDX-License-Identifier: MIT */
#include "ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SECOND = 1000000000;

/* How long a connection without a new stall is remembered, and how long its process is sought. */
enum { MANY = 4096, QUIET_S = 60, QUIET_OF_MANY_S = 2, SOUGHT_S = 20, IDLE_SERIES_S = 3600 };

static int by_cookie(const void *a, const void *b) {
    const struct ledger_connection *x = a, *y = b;
    return memcmp(x->key.cookie, y->key.cookie, sizeof(x->key.cookie));
}

static struct ledger_connection *find(const struct scan_ledger *l, const struct scan_key *key) {
    const struct ledger_connection wanted = {.key = *key};
    return l->count ? bsearch(&wanted, l->known, l->count, sizeof(wanted), by_cookie) : NULL;
}

/* ---- series ----------------------------------------------------------------- */

static struct scan_series series_for(const struct scan_process *p, uint32_t uid) {
    struct scan_series s = {.uid = uid};
    memcpy(s.container, p->container, sizeof(s.container));
    memcpy(s.program, p->program, sizeof(s.program));
    if (!p->container[0]) /* the scope of a container has its id in its name */
        scan_cgroup_lasting_unit(p->unit, s.unit);
    return s;
}

static bool same(const struct scan_series *a, const struct scan_series *b) {
    return a->uid == b->uid && strcmp(a->program, b->program) == 0 &&
           strcmp(a->unit, b->unit) == 0 && strcmp(a->container, b->container) == 0;
}

/* A free place: a new one, or that of a series that nothing lives in and that is quiet. */
static unsigned place_for_series(struct scan_ledger *l, uint64_t now_ns) {
    if (l->series_count < LEDGER_SERIES)
        return (unsigned)l->series_count++;
    for (unsigned i = LEDGER_OTHERS + 1; i < LEDGER_SERIES; i++)
        if (l->series[i].connections == 0 &&
            now_ns - l->series[i].grown_ns > IDLE_SERIES_S * SECOND)
            return i;
    return LEDGER_OTHERS;
}

static unsigned series_of(struct scan_ledger *l, const struct scan_process *p, uint32_t uid,
                          uint64_t now_ns) {
    struct scan_series wanted = series_for(p, uid);
    for (unsigned i = LEDGER_OTHERS + 1; i < l->series_count; i++)
        if (same(&l->series[i], &wanted))
            return i;
    unsigned place = place_for_series(l, now_ns);
    if (place != LEDGER_OTHERS) {
        l->series[place] = wanted;
        l->series[place].grown_ns = now_ns;
    }
    return place;
}

static void add(struct scan_sums *to, const struct scan_sums *from) {
    to->stalls += from->stalls;
    to->lost_ns += from->lost_ns;
    to->one_way += from->one_way;
}

static void raise_to(double *told, double now, struct scan_series *s, uint64_t now_ns) {
    if (now > *told) {
        *told = now;
        s->grown_ns = now_ns;
    }
}

/* The values of each series from now on. */
static void tell(struct scan_ledger *l, uint64_t now_ns) {
    for (size_t i = 0; i < l->series_count; i++) {
        struct scan_series *s = &l->series[i];
        s->live = (struct scan_sums){0};
        s->connections = 0;
    }
    for (size_t i = 0; i < l->count; i++) {
        const struct ledger_connection *c = &l->known[i];
        if (!c->named)
            continue;
        add(&l->series[c->series].live, &c->sums);
        l->series[c->series].connections++;
    }
    for (size_t i = 0; i < l->series_count; i++) {
        struct scan_series *s = &l->series[i];
        struct scan_sums sum = s->settled;
        add(&sum, &s->live);
        raise_to(&s->told.stalls, sum.stalls, s, now_ns);
        raise_to(&s->told.lost_ns, sum.lost_ns, s, now_ns);
        raise_to(&s->told.one_way, sum.one_way, s, now_ns);
    }
}

/* ---- connections -------------------------------------------------------------- */

static struct scan_sums sums_of(const struct scan_connection *c) {
    if (c->one_way)
        return (struct scan_sums){.one_way = c->stalls.count};
    return (struct scan_sums){.stalls = c->stalls.count, .lost_ns = c->stalls.lost_ns};
}

static void name(struct scan_ledger *l, struct ledger_connection *k,
                 const struct scan_connection *c, const struct scan_process *p, uint64_t now_ns) {
    const struct scan_process nobody = {.pid = 0};
    if (!p && now_ns - k->began_ns < SOUGHT_S * SECOND)
        return;
    k->series = series_of(l, p ? p : &nobody, c->uid, now_ns);
    k->named = true;
    l->series[k->series].connections++; /* keeps its place */
}

static void update(struct scan_ledger *l, struct ledger_connection *k,
                   const struct scan_connection *c, const struct scan_process *p, uint64_t now_ns) {
    struct scan_sums now = sums_of(c);
    if (now.stalls != k->sums.stalls || now.one_way != k->sums.one_way)
        k->changed_ns = now_ns;
    k->sums = now;
    k->seen = true;
    if (!k->named)
        name(l, k, c, p, now_ns);
}

/* Room for those of the result that are new, behind the known ones. */
static int take_new(struct scan_ledger *l, const struct scan_result *r, uint64_t now_ns) {
    size_t count = l->count;
    struct ledger_connection *more = reallocarray(l->known, count + r->count + 1, sizeof(*more));
    struct scan_key *done = reallocarray(l->done, count + r->count + 1, sizeof(*done));
    l->known = more ? more : l->known;
    l->done = done ? done : l->done;
    if (!more || !done)
        return -ENOMEM;
    for (size_t i = 0; i < r->count; i++)
        if (!find(l, &r->connections[i].key))
            l->known[count++] = (struct ledger_connection){
                .key = r->connections[i].key, .began_ns = now_ns, .changed_ns = now_ns};
    l->count = count;
    if (count)
        qsort(l->known, count, sizeof(*l->known), by_cookie);
    return 0;
}

/* The quiet ones are settled.  If the source no longer tells one, it has found it to be no stall (a cork). */
static void forget(struct scan_ledger *l, uint64_t now_ns) {
    uint64_t quiet = (l->count > MANY ? QUIET_OF_MANY_S : QUIET_S) * SECOND;
    size_t kept = 0;
    l->done_count = 0;
    for (size_t i = 0; i < l->count; i++) {
        struct ledger_connection *k = &l->known[i];
        if (!k->seen)
            continue;
        if (k->named && now_ns - k->changed_ns > quiet) {
            add(&l->series[k->series].settled, &k->sums);
            l->done[l->done_count++] = k->key;
            continue;
        }
        k->seen = false;
        l->known[kept++] = *k;
    }
    l->count = kept;
}

int scan_ledger_take(struct scan_ledger *l, const struct scan_result *r, uint64_t now_ns,
                     ledger_process_fn *process_of, void *arg) {
    int failed = take_new(l, r, now_ns);
    if (failed)
        return failed;
    for (size_t i = 0; i < r->count; i++) {
        const struct scan_connection *c = &r->connections[i];
        struct ledger_connection *k = find(l, &c->key);
        if (k)
            update(l, k, c, k->named ? NULL : process_of(c, arg), now_ns);
    }
    forget(l, now_ns);
    tell(l, now_ns);
    return 0;
}

void scan_ledger_settle(struct scan_ledger *l) {
    for (size_t i = 0; i < l->count; i++)
        if (l->known[i].named)
            add(&l->series[l->known[i].series].settled, &l->known[i].sums);
    l->count = l->done_count = 0;
}

void scan_ledger_begin(struct scan_ledger *l) {
    *l = (struct scan_ledger){.series_count = LEDGER_OTHERS + 1};
    memcpy(l->series[LEDGER_OTHERS].program, "(others)", sizeof("(others)"));
}

void scan_ledger_end(struct scan_ledger *l) {
    free(l->known);
    free(l->done);
    l->known = NULL;
    l->done = NULL;
    l->count = l->done_count = 0;
}
