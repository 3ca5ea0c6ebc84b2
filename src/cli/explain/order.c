/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <stdlib.h>

bool order_make(struct order *o, void (*give)(void *context, const struct ordered *o), void *context) {
    *o = (struct order){.give = give, .context = context, .given_ns = INT64_MIN};
    o->room = calloc(ORDER_ROOM, sizeof(*o->room));
    o->heap = calloc(ORDER_ROOM, sizeof(*o->heap));
    return o->room && o->heap;
}

void order_free(struct order *o) {
    free(o->room);
    free(o->heap);
}

static bool earlier(const struct order *o, uint32_t a, uint32_t b) {
    const struct ordered *x = &o->room[o->heap[a]], *y = &o->room[o->heap[b]];
    return x->at_ns != y->at_ns ? x->at_ns < y->at_ns : x->number < y->number;
}

static void swap(struct order *o, uint32_t a, uint32_t b) {
    uint32_t place = o->heap[a];
    o->heap[a] = o->heap[b];
    o->heap[b] = place;
}

static void rise(struct order *o, uint32_t at) {
    for (; at > 0 && earlier(o, at, (at - 1) / 2); at = (at - 1) / 2)
        swap(o, at, (at - 1) / 2);
}

static void sink(struct order *o) {
    for (uint32_t at = 0, child; (child = 2 * at + 1) < o->used; at = child) {
        if (child + 1 < o->used && earlier(o, child + 1, child))
            child++;
        if (!earlier(o, child, at))
            return;
        swap(o, at, child);
    }
}

/* Gives the earliest; its place in the room is free. */
static uint32_t give(struct order *o) {
    uint32_t place = o->heap[0];
    const struct ordered *first = &o->room[place];
    o->late |= first->at_ns < o->given_ns;
    o->given_ns = first->at_ns;
    o->give(o->context, first);
    o->heap[0] = o->heap[--o->used];
    sink(o);
    return place;
}

void order_add(struct order *o, const struct ordered *next) {
    uint32_t place = o->used < ORDER_ROOM ? o->used : give(o);
    o->room[place] = *next;
    o->heap[o->used] = place;
    rise(o, o->used++);
}

void order_end(struct order *o) {
    while (o->used > 0)
        give(o);
}
