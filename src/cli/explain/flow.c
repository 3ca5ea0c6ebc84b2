/* SPDX-License-Identifier: MIT */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

struct flows {
    uint32_t capacity, used, buckets;
    uint64_t evicted;
    void (*done)(void *context, struct flow *f);
    void *context;
    struct flow *oldest, *newest;
    struct flow **bucket;
    struct flow *room;
};

struct flows *flows_make(uint32_t capacity, void (*done)(void *context, struct flow *f),
                         void *context) {
    struct flows *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    *t = (struct flows){
        .capacity = capacity, .buckets = 2 * capacity, .done = done, .context = context};
    t->bucket = calloc(t->buckets, sizeof(struct flow *));
    t->room = calloc(capacity, sizeof(*t->room));
    if (!t->bucket || !t->room) {
        free(t->bucket);
        free(t->room);
        free(t);
        return NULL;
    }
    return t;
}

static void finish(struct flows *t, struct flow *f) {
    t->done(t->context, f);
    for (int i = 0; i < 2; i++)
        free(f->sender[i].evidence);
}

void flows_free(struct flows *t) {
    for (struct flow *f = t->oldest; f; f = f->newer)
        finish(t, f);
    free(t->bucket);
    free(t->room);
    free(t);
}

uint64_t flows_evicted(const struct flows *t) {
    return t->evicted;
}

/* FNV-1a.  A capture made to collide slows only its own reading. */
static uint64_t mixed(uint64_t h, const void *data, size_t size) {
    const uint8_t *p = data;
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * 0x100000001b3;
    return h;
}

static uint64_t endpoint_hash(const struct endpoint *e) {
    uint64_t h = mixed(0xcbf29ce484222325, e->address, sizeof(e->address));
    return mixed(h, &e->port, sizeof(e->port));
}

static int endpoint_order(const struct endpoint *a, const struct endpoint *b) {
    int order = memcmp(a->address, b->address, sizeof(a->address));
    return order ? order : (int)a->port - (int)b->port;
}

static struct flow **place_of(struct flows *t, const struct endpoint end[2]) {
    uint64_t h = endpoint_hash(&end[0]) * 31 + endpoint_hash(&end[1]);
    return &t->bucket[(h ^ h >> 32) % t->buckets];
}

static void unlink_age(struct flows *t, struct flow *f) {
    *(f->older ? &f->older->newer : &t->oldest) = f->newer;
    *(f->newer ? &f->newer->older : &t->newest) = f->older;
}

static void link_newest(struct flows *t, struct flow *f) {
    f->older = t->newest;
    f->newer = NULL;
    *(t->newest ? &t->newest->newer : &t->oldest) = f;
    t->newest = f;
}

static void clear(struct flow *f) {
    memset(f->sender, 0, sizeof(f->sender));
    f->sender[0].scale = f->sender[1].scale = -1;
    f->client = f->last_speaker = -1;
    f->client_delay_ns = -1;
}

static struct flow *take_room(struct flows *t) {
    if (t->used < t->capacity)
        return &t->room[t->used++];
    struct flow *f = t->oldest;
    finish(t, f);
    t->evicted++;
    struct flow **p = place_of(t, f->end);
    while (*p != f)
        p = &(*p)->chain;
    *p = f->chain;
    unlink_age(t, f);
    return f;
}

struct flow *flows_find(struct flows *t, const struct tcp_segment *s, int *from) {
    *from = endpoint_order(&s->source, &s->destination) > 0;
    struct endpoint end[2];
    end[*from] = s->source;
    end[!*from] = s->destination;
    for (struct flow *f = *place_of(t, end); f; f = f->chain) {
        if (endpoint_order(&f->end[0], &end[0]) == 0 && endpoint_order(&f->end[1], &end[1]) == 0) {
            if (f != t->newest) {
                unlink_age(t, f);
                link_newest(t, f);
            }
            return f;
        }
    }
    struct flow *f = take_room(t);
    memset(f, 0, sizeof(*f));
    memcpy(f->end, end, sizeof(end));
    clear(f);
    struct flow **place = place_of(t, end);
    f->chain = *place;
    *place = f;
    link_newest(t, f);
    return f;
}

void flows_restart(struct flows *t, struct flow *f) {
    finish(t, f);
    clear(f);
}
