/* SPDX-License-Identifier: MIT */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

#include "stats_format.h"

void flow_end(struct flow *f) {
    for (int i = 0; i < 2; i++)
        free(f->sender[i].evidence);
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

struct flow *flows_find(struct table *t, const struct tcp_segment *s, int *from) {
    *from = endpoint_order(&s->source, &s->destination) > 0;
    struct endpoint end[2];
    end[*from] = s->source;
    end[!*from] = s->destination;
    uint64_t key = endpoint_hash(&end[0]) * 31 + endpoint_hash(&end[1]);
    struct flow *f;
    while ((f = table_find(t, key)) != NULL && !same_ends(f, end))
        key++; /* two connections with one hash */
    if (f)
        return f;
    f = table_add(t, key);
    memcpy(f->end, end, sizeof(end));
    clear(f);
    return f;
}

void flows_restart(struct table *t, struct flow *f) {
    t->gone(t->context, f);
    clear(f);
}
