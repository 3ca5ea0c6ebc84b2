/* SPDX-License-Identifier: MIT */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

#include "stats_format.h"

struct flows {
    struct table table;
    void (*done)(void *context, struct flow *f);
    void *context;
};

static void finish(struct flows *t, struct flow *f) {
    t->done(t->context, f);
    for (int i = 0; i < 2; i++)
        free(f->sender[i].evidence);
}

static void gone(void *context, void *item) {
    finish(context, item);
}

struct flows *flows_make(uint32_t capacity, void (*done)(void *context, struct flow *f),
                         void *context) {
    struct flows *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->done = done;
    t->context = context;
    if (!table_make(&t->table, capacity, sizeof(struct flow), gone, t)) {
        flows_free(t);
        return NULL;
    }
    return t;
}

void flows_free(struct flows *t) {
    table_free(&t->table);
    free(t);
}

uint64_t flows_evicted(const struct flows *t) {
    return t->table.evicted;
}

/* A capture made to collide slows only its own reading. */
static uint64_t endpoint_hash(const struct endpoint *e) {
    return stats_hash(stats_hash(0, e->address, sizeof(e->address)), &e->port, sizeof(e->port));
}

static int endpoint_order(const struct endpoint *a, const struct endpoint *b) {
    int order = memcmp(a->address, b->address, sizeof(a->address));
    return order ? order : (int)a->port - (int)b->port;
}

static bool same_ends(const struct flow *f, const struct endpoint end[2]) {
    return endpoint_order(&f->end[0], &end[0]) == 0 && endpoint_order(&f->end[1], &end[1]) == 0;
}

static void clear(struct flow *f) {
    memset(f->sender, 0, sizeof(f->sender));
    f->sender[0].scale = f->sender[1].scale = -1;
    f->client = f->last_speaker = -1;
    f->client_delay_ns = -1;
}

struct flow *flows_find(struct flows *t, const struct tcp_segment *s, int *from) {
    *from = endpoint_order(&s->source, &s->destination) > 0;
    struct endpoint end[2];
    end[*from] = s->source;
    end[!*from] = s->destination;
    uint64_t key = endpoint_hash(&end[0]) * 31 + endpoint_hash(&end[1]);
    struct flow *f;
    while ((f = table_find(&t->table, key)) != NULL && !same_ends(f, end))
        key++; /* two connections with one hash */
    if (f)
        return f;
    f = table_add(&t->table, key);
    memcpy(f->end, end, sizeof(end));
    clear(f);
    return f;
}

void flows_restart(struct flows *t, struct flow *f) {
    finish(t, f);
    clear(f);
}
