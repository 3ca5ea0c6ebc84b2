/* SPDX-License-Identifier: MIT */
#include "host.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capability.h"

enum {
    SLICE_MS = 500,
    AGAIN_S = 5,               /* after a failure */
    DESCRIPTORS = 1000,        /* looked at in a second, for the processes: 0.2 % of a core */
    DESCRIPTORS_SAVED = 60000, /* at once after a quiet time */
    DESCRIPTORS_FIRST = 20000, /* at the start: 40 ms, so that the first ones are named at once */
};

static const uint64_t MS = 1000000;

struct scan_host {
    pthread_t thread;
    pthread_mutex_t lock; /* of the state for scan_host_read(); the thread changes it */
    volatile sig_atomic_t stop;
    const char *wanted;
    struct scan_options options;
    const struct scan_source *source;
    void *state;
    char not_exact[SCAN_ERROR], failure[SCAN_ERROR];
    size_t sockets;
    uint64_t lost, lost_before; /* of the present source, of those before */
    enum scan_kind kind;
    struct scan_table owners;
    size_t may_look; /* at descriptors, in all */
    uint64_t looked_ns;
    struct scan_ledger ledger;
};

/* ---- rights --------------------------------------------------------- */

/* The descriptors of other users' processes: CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH. */
static bool sees_all(void) {
    return has_capability(CAP_SYS_PTRACE) &&
           (has_capability(CAP_DAC_READ_SEARCH) || has_capability(CAP_DAC_OVERRIDE));
}

/* ---- one slice ------------------------------------------------------------------ */

static const struct scan_process *sender(const struct scan_connection *c, void *arg) {
    static struct scan_process room; /* one thread */
    const struct scan_host *h = arg;
    return scan_table_sender(&h->owners, c, &room);
}

static void allow_to_look(struct scan_host *h, uint64_t now) {
    size_t saved = h->owners.enough > DESCRIPTORS_SAVED ? h->owners.enough : DESCRIPTORS_SAVED;
    h->may_look += (size_t)((now - h->looked_ns) / MS * DESCRIPTORS / 1000);
    h->looked_ns = now;
    if (h->may_look > h->owners.looked + saved)
        h->may_look = h->owners.looked + saved;
}

static int take(struct scan_host *h, const struct scan_result *r) {
    uint64_t now = scan_now();
    allow_to_look(h, now);
    int failed = scan_table_learn(&h->owners, r, h->may_look);
    if (failed)
        return failed;
    scan_table_keep(&h->owners, r);
    pthread_mutex_lock(&h->lock);
    failed = scan_ledger_take(&h->ledger, r, now, sender, h);
    h->sockets = r->sockets;
    h->lost = r->lost;
    pthread_mutex_unlock(&h->lock);
    if (!failed)
        h->source->forget(h->state, h->ledger.done, h->ledger.done_count);
    return failed;
}

static int look(struct scan_host *h) {
    struct scan_result r;
    int failed = h->source->run(h->state, scan_now() + SLICE_MS * MS, &h->stop);
    if (failed || (failed = h->source->collect(h->state, &r)))
        return failed;
    failed = take(h, &r);
    scan_result_free(&r);
    return failed;
}

/* ---- a source that fails is begun again ------------------------------------------ */

static bool begin(struct scan_host *h) {
    char not_exact[SCAN_ERROR], failure[SCAN_ERROR] = "";
    const struct scan_source *source;
    void *state = scan_source_begin(h->wanted, &h->options, &source, not_exact, failure);
    pthread_mutex_lock(&h->lock);
    h->state = state;
    h->source = source;
    h->kind = source == &scan_exact ? SCAN_EXACT : SCAN_SAMPLED;
    memcpy(h->not_exact, not_exact, sizeof(not_exact));
    memcpy(h->failure, failure, sizeof(failure));
    pthread_mutex_unlock(&h->lock);
    return state != NULL;
}

static void give_up(struct scan_host *h, int failed) {
    pthread_mutex_lock(&h->lock);
    scan_ledger_settle(&h->ledger);
    h->lost_before += h->lost;
    h->lost = 0;
    snprintf(h->failure, sizeof(h->failure), "%s", strerror(-failed));
    pthread_mutex_unlock(&h->lock);
    h->source->end(h->state);
    h->state = NULL;
}

static void wait_a_while(const struct scan_host *h) {
    uint64_t end = scan_now() + (uint64_t)AGAIN_S * 1000 * MS;
    while (!h->stop && scan_now() < end)
        scan_sleep_until(scan_now() + SLICE_MS * MS);
}

static void *work(void *arg) {
    struct scan_host *h = arg;
    while (!h->stop) {
        int failed = h->state || begin(h) ? 0 : -EAGAIN;
        while (!failed && !h->stop)
            failed = look(h);
        if (failed && h->state)
            give_up(h, failed);
        if (failed)
            wait_a_while(h);
    }
    return NULL;
}

/* ---- from outside ----------------------------------------------------------------- */

static void destroy(struct scan_host *h) {
    if (h->state)
        h->source->end(h->state);
    scan_table_end(&h->owners);
    scan_ledger_end(&h->ledger);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

struct scan_host *scan_host_begin(const char *source, const struct scan_options *o,
                                  char error[SCAN_ERROR]) {
    struct scan_host *h = calloc(1, sizeof(*h));
    if (!h) {
        snprintf(error, SCAN_ERROR, "no memory");
        return NULL;
    }
    pthread_mutex_init(&h->lock, NULL);
    scan_ledger_begin(&h->ledger);
    h->wanted = source;
    h->options = *o;
    h->options.no_peers = true;
    h->looked_ns = scan_now();
    h->may_look = DESCRIPTORS_FIRST;
    int failed = begin(h) ? pthread_create(&h->thread, NULL, work, h) : -1;
    if (!failed)
        return h;
    snprintf(error, SCAN_ERROR, "%s", failed < 0 ? h->failure : strerror(failed));
    destroy(h);
    return NULL;
}

void scan_host_read(struct scan_host *h, void (*read)(const struct scan_host_state *s, void *arg),
                    void *arg) {
    pthread_mutex_lock(&h->lock);
    struct scan_host_state s = {
        .kind = h->kind,
        .not_exact = h->not_exact,
        .failure = h->failure,
        .sees_all = sees_all(),
        .sockets = h->sockets,
        .lost = h->lost_before + h->lost,
        .own_time_ns = scan_own_time(),
        .ledger = &h->ledger,
    };
    read(&s, arg);
    pthread_mutex_unlock(&h->lock);
}

void scan_host_end(struct scan_host *h) {
    h->stop = 1;
    pthread_join(h->thread, NULL);
    destroy(h);
}
