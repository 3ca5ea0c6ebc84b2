/* SPDX-License-Identifier: MIT */
#include "candidates.h"

#include <search.h>
#include <string.h>

#include "array.h"

static const uint64_t IDLE_NS = 2500000000;

static int by_cookie(const void *a, const void *b) {
    const struct scan_candidate *x = a, *y = b;
    return memcmp(x->key.cookie, y->key.cookie, sizeof(x->key.cookie));
}

static struct scan_candidate *find(const struct scan_candidates *c, const struct scan_key *key) {
    const struct scan_candidate wanted = {.key = *key};
    struct scan_candidate *const *found = tfind(&wanted, &c->by_cookie, by_cookie);
    return found ? *found : NULL;
}

bool scan_candidate_known(const struct scan_candidates *c, const struct scan_key *key) {
    const struct scan_candidate *found = find(c, key);
    return found && found->active;
}

static struct scan_candidate *add(struct scan_candidates *c, const struct scan_key *key) {
    struct scan_candidate *new = calloc(1, sizeof(*new));
    if (!new)
        return NULL;
    new->key = *key;
    if (tsearch(new, &c->by_cookie, by_cookie) && ARRAY_ADD(c->list, c->count, new))
        return new;
    tdelete(new, &c->by_cookie, by_cookie);
    free(new);
    return NULL;
}

struct scan_candidate *scan_candidate_discovered(struct scan_candidates *c,
                                                 const struct scan_key *key,
                                                 const struct scan_sample *s, uint64_t gap_ns) {
    struct scan_candidate *found = find(c, key);
    if (!found && !(found = add(c, key)))
        return NULL;
    if (scan_candidate_is_cleared(found))
        return found;
    found->active = true;
    found->judge.started = found->judge.held = false;
    found->judge.watched_ns = found->held_watched_ns = 0;
    found->span = (struct scan_found){.gap_ns = gap_ns};
    found->discovered_ns = s->at_ns;
    scan_candidate_sampled(found, s);
    return found;
}

bool scan_candidate_sampled(struct scan_candidate *c, const struct scan_sample *s) {
    struct scan_stall stall;
    bool ended = scan_judge(&c->judge, s, &stall);
    if (s->inode)
        c->inode = s->inode; /* 0 once the last descriptor is closed */
    c->uid = s->uid;
    c->span.watched_ns = c->judge.watched_ns;
    c->span.alive_ns = s->at_ns - c->discovered_ns;
    if (c->judge.held)
        c->held_watched_ns = c->judge.watched_ns;
    if (!ended)
        return false;
    c->span.discovered += stall.discovered;
    c->span.watched += !stall.discovered;
    c->span.stall_ns += stall.end_ns - stall.begin_ns;
    return true;
}

void scan_candidate_rest(struct scan_candidate *c) {
    scan_estimate_add(&c->finished, &c->span);
    c->span = (struct scan_found){0};
    c->active = false;
}

bool scan_candidate_is_idle(const struct scan_candidate *c) {
    return c->judge.watched_ns - c->held_watched_ns > IDLE_NS;
}

bool scan_candidate_is_cleared(const struct scan_candidate *c) {
    enum { ENOUGH = 10 };
    const struct scan_judge *j = &c->judge;
    return j->stalls + j->corked + j->early + j->short_holds >= ENOUGH &&
           (scan_judge_corks(j) || j->stalls == 0 || scan_judge_one_way(j));
}

size_t scan_candidates_turn(struct scan_candidates *c, struct scan_candidate *chosen[],
                            size_t room) {
    size_t count = 0;
    for (size_t seen = 0; seen < c->count && count < room; seen++) {
        struct scan_candidate *next = c->list[c->turn++ % c->count];
        if (next->active)
            chosen[count++] = next;
    }
    return count;
}

struct scan_estimate scan_candidate_estimate(const struct scan_candidate *c) {
    struct scan_estimate e = c->finished;
    if (c->active)
        scan_estimate_add(&e, &c->span);
    return e;
}

static void drop(struct scan_candidates *c, struct scan_candidate *one) {
    tdelete(one, &c->by_cookie, by_cookie);
    free(one);
}

static bool is_idle_for_long(const struct scan_candidate *one, uint64_t before_ns) {
    bool tells = one->finished.seen > 0 && !scan_judge_corks(&one->judge);
    return !one->active && !tells && one->judge.last.at_ns < before_ns;
}

void scan_candidates_forget(struct scan_candidates *c, const struct scan_key *keys, size_t count,
                            uint64_t before_ns) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct scan_candidate *one = find(c, &keys[i]);
        if (one)
            one->dropped = true;
    }
    for (size_t i = 0; i < c->count; i++) {
        struct scan_candidate *one = c->list[i];
        if (one->dropped || is_idle_for_long(one, before_ns))
            drop(c, one);
        else
            c->list[kept++] = one;
    }
    c->count = kept;
}

static void nothing(void *node) {
    (void)node;
}

void scan_candidates_end(struct scan_candidates *c) {
    tdestroy(c->by_cookie, nothing);
    for (size_t i = 0; i < c->count; i++)
        free(c->list[i]);
    free(c->list);
    *c = (struct scan_candidates){0};
}
