/* SPDX-License-Identifier: MIT
 *
 * The source that needs no privilege.  A dump lists all sockets and so discovers those with held
 * data; the source then samples each of these every 12 ms, by its id.  budget.c says when to dump
 * and to sample; judge.c says which samples show a stall.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "candidates.h"
#include "clock_ns.h"
#include "diag.h"
#include "source.h"

enum {
    WATCHED = 512,
    TURN_MS = 500,         /* the source watches one choice of candidates for so long */
    QUEUED_MOST = 1 << 20, /* more than this in the queue is a bulk transfer */
};

struct sampled {
    struct scan_options options;
    struct scan_diag *diag, *singles; /* the second one is asked while the first one dumps */
    struct scan_budget budget;
    struct scan_candidates candidates;
    struct scan_candidate *watched[WATCHED];
    size_t watched_count;
    uint64_t dump_due, watch_due, turn_due;
    uint64_t listeners_due;
    uint64_t dumped_ns; /* time of the last dump; before the first one, of the start */
    unsigned dumps;
    size_t sockets;
    uint64_t gap_ns; /* from the last dump to the present one */
    int failed;      /* in the present dump */
    struct scan_listeners listeners;
};

/* ---- dumps --------------------------------------------------------------- */

/* Lists the listening ports at most every two seconds.  take_listed() asks for it sooner. */
static int dump_listeners(struct sampled *s) {
    enum { SECONDS = 2 };
    uint64_t now = scan_now();
    if (now < s->listeners_due)
        return 0;
    s->listeners_due = now + SECONDS * UINT64_C(1000000000);
    return scan_listeners_look(&s->listeners, s->diag);
}

/* Bytes in flight and more in the queue are a suspect.  A sample tells which of them holds bytes back.  It is
 * taken at once, because a stall is shorter than a dump of many sockets. */
static void take_listed(const struct scan_listed *l, void *arg) {
    struct sampled *s = arg;
    const struct scan_key *key = &l->key;
    struct scan_sample sample;
    bool found;
    if (s->failed || l->sample.queued == 0 || l->sample.queued > QUEUED_MOST || !l->in_flight ||
        !scan_has_port(&key->local, &key->peer, s->options.port) ||
        scan_candidate_known(&s->candidates, key))
        return;
    s->failed = scan_diag_query(s->singles, &key, 1, &sample, &found);
    if (s->failed || !found || !scan_holds(&sample))
        return;
    if (!scan_candidate_discovered(&s->candidates, key, &sample, s->gap_ns))
        s->failed = -ENOMEM;
    if (!s->listeners.port[key->local.port] && !s->listeners.port[key->peer.port])
        s->listeners_due = 0; /* which end is the service? */
}

/* Watches the sockets that this dump has discovered at once, as far as the turn has room: the hold
 * would be over at the next turn. */
static void watch_discovered(struct sampled *s) {
    for (size_t i = 0; i < s->candidates.count; i++) {
        struct scan_candidate *c = s->candidates.list[i];
        if (c->active && c->discovered_ns >= s->dumped_ns && s->watched_count < WATCHED)
            s->watched[s->watched_count++] = c;
    }
}

static int dump(struct sampled *s) {
    uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID), now = scan_now();
    s->gap_ns = s->dumps ? now - s->dumped_ns : 0;
    int failed = dump_listeners(s);
    int count = failed ? failed : scan_diag_dump(s->diag, SCAN_ESTABLISHED, take_listed, s);
    if (count == -ENOBUFS || count == -EINTR)
        count = (int)s->sockets; /* this dump is incomplete: keep the number of the last one */
    if (count < 0 || s->failed)
        return count < 0 ? count : s->failed;
    s->sockets = (size_t)count;
    s->dumps++;
    s->dumped_ns = now;
    watch_discovered(s);
    scan_budget_dump(&s->budget, clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
    s->dump_due = now + scan_budget_dump_every(&s->budget);
    return 0;
}

/* ---- watching -------------------------------------------------------------- */

static void choose(struct sampled *s, uint64_t now) {
    unsigned active = 0;
    for (size_t i = 0; i < s->candidates.count; i++) {
        struct scan_candidate *c = s->candidates.list[i];
        if (c->active && (scan_candidate_is_idle(c) || scan_candidate_is_cleared(c)))
            scan_candidate_rest(c);
        active += c->active;
    }
    size_t room = scan_budget_turn(&s->budget, now, active < WATCHED ? active : WATCHED);
    s->watched_count = scan_candidates_turn(&s->candidates, s->watched, room);
    s->turn_due = now + (uint64_t)TURN_MS * 1000000;
}

static int watch_some(struct sampled *s, struct scan_candidate **some, size_t count) {
    const struct scan_key *keys[SCAN_QUERIES];
    struct scan_sample samples[SCAN_QUERIES];
    bool found[SCAN_QUERIES];
    for (size_t i = 0; i < count; i++)
        keys[i] = &some[i]->key;
    int failed = scan_diag_query(s->singles, keys, count, samples, found);
    for (size_t i = 0; !failed && i < count; i++) {
        if (!found[i]) {
            scan_candidate_rest(some[i]);
        } else if (scan_candidate_sampled(some[i], &samples[i]) && !some[i]->peer_sought) {
            some[i]->peer_sought = true; /* its process waits for the held data */
            some[i]->peer_inode = s->options.no_peers ? 0 : scan_diag_peer(s->singles, &some[i]->key);
        }
    }
    return failed;
}

static int watch(struct sampled *s) {
    uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID), now = scan_now();
    size_t kept = 0;
    int failed = 0;
    if (now >= s->turn_due)
        choose(s, now);
    for (size_t at = 0; !failed && at < s->watched_count; at += SCAN_QUERIES) {
        size_t count = s->watched_count - at;
        failed = watch_some(s, &s->watched[at], count < SCAN_QUERIES ? count : SCAN_QUERIES);
    }
    for (size_t i = 0; i < s->watched_count; i++)
        if (s->watched[i]->active)
            s->watched[kept++] = s->watched[i];
    s->watched_count = kept;
    scan_budget_watch(&s->budget, clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
    s->watch_due = now + WATCH_EVERY_NS;
    return failed;
}

/* True for a candidate that waits for longer than a turn already: its stalls are not estimated. */
static bool is_unwatched(const struct scan_candidate *c, uint64_t now) {
    return c->active && c->judge.watched_ns == 0 && now - c->discovered_ns > (uint64_t)TURN_MS * 1000000;
}

/* ---- the source -------------------------------------------------------------- */

static void end(void *source) {
    struct sampled *s = source;
    scan_candidates_end(&s->candidates);
    scan_diag_close(s->diag);
    scan_diag_close(s->singles);
    free(s);
}

static void *begin(const struct scan_options *o, char error[SCAN_ERROR]) {
    struct sampled *s = calloc(1, sizeof(*s));
    int failed = s ? scan_diag_open(&s->diag, o->namespace_of) : -ENOMEM;
    if (!failed)
        failed = scan_diag_open(&s->singles, o->namespace_of);
    if (!failed) {
        s->options = *o;
        s->budget = scan_budget_begin(scan_now());
        s->dumped_ns = s->budget.began_ns;
        failed = dump_listeners(s);
    }
    if (!failed)
        return s;
    if (failed == -EPERM)
        snprintf(error, SCAN_ERROR,
                 "process %d is in another network namespace; looking into it needs CAP_SYS_ADMIN",
                 (int)o->namespace_of);
    else if (failed == -EACCES)
        snprintf(error, SCAN_ERROR,
                 "the network namespace of process %d may not be looked at; %s", (int)o->namespace_of,
                 reader_who_may());
    else if (failed == -ENOENT || failed == -EPROTONOSUPPORT)
        snprintf(error, SCAN_ERROR,
                 "the kernel does not list its TCP sockets; load its module tcp_diag");
    else
        snprintf(error, SCAN_ERROR, "sockets cannot be listed (sock_diag): %s", strerror(-failed));
    if (s)
        end(s);
    return NULL;
}

static uint64_t sooner(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static int run(void *source, uint64_t until_ns, const volatile sig_atomic_t *stop) {
    struct sampled *s = source;
    uint64_t now;
    while (!*stop && (now = scan_now()) < until_ns) {
        int failed = 0;
        if (now >= s->dump_due)
            failed = dump(s);
        else if (!scan_budget_allows(&s->budget, now))
            s->watch_due = now + WATCH_EVERY_NS;
        else if (now >= s->watch_due && s->candidates.count)
            failed = watch(s);
        if (failed)
            return failed;
        uint64_t due = s->candidates.count ? sooner(s->watch_due, s->dump_due) : s->dump_due;
        scan_sleep_until(sooner(due, until_ns));
    }
    return 0;
}

static bool report(const struct scan_candidate *c, struct scan_connection *to) {
    struct scan_estimate e = scan_candidate_estimate(c);
    if (e.seen == 0 || scan_judge_corks(&c->judge))
        return false;
    *to = (struct scan_connection){
        .key = c->key,
        .inode = c->inode,
        .peer_inode = c->peer_inode,
        .uid = c->uid,
        .stalls = e,
        .one_way = scan_judge_one_way(&c->judge),
    };
    return true;
}

static int collect(void *source, struct scan_result *r) {
    struct sampled *s = source;
    uint64_t now = scan_now();
    *r = (struct scan_result){
        .kind = SCAN_SAMPLED,
        .began_ns = s->budget.began_ns,
        .ended_ns = now,
        .share = scan_own_share(s->budget.began_ns, now),
        .sockets = s->sockets,
        .dumps = s->dumps,
        .listening = &s->listeners,
        .dump_every_ns = s->dumps ? (now - s->budget.began_ns) / s->dumps : 0,
    };
    r->connections = calloc(s->candidates.count + 1, sizeof(*r->connections));
    if (!r->connections)
        return -ENOMEM;
    for (size_t i = 0; i < s->candidates.count; i++) {
        r->count += report(s->candidates.list[i], &r->connections[r->count]);
        r->unwatched += is_unwatched(s->candidates.list[i], now);
    }
    return 0;
}

static void forget(void *source, const struct scan_key *keys, size_t count) {
    struct sampled *s = source;
    enum { MANY = 4096, KEPT_S = 60, KEPT_OF_MANY_S = 2 };
    uint64_t kept = s->candidates.count > MANY ? KEPT_OF_MANY_S : KEPT_S;
    uint64_t now = scan_now(), most = kept * 1000000000;
    scan_candidates_forget(&s->candidates, keys, count, now > most ? now - most : 0);
    if (count == 0)
        return;           /* candidates dropped for their age alone are not being watched */
    s->watched_count = 0; /* s->watched may point to a dropped one: choose again */
    s->turn_due = 0;
}

const struct scan_source scan_sampled = {begin, run, collect, NULL, forget, end};
