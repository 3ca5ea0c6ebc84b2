/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <stdlib.h>
#include <string.h>

bool table_make(struct table *t, uint32_t capacity, size_t item_size,
                void (*gone)(void *context, void *item), void *context) {
    *t = (struct table){
        .item_size = item_size, .capacity = capacity, .gone = gone, .context = context};
    t->bucket = calloc(capacity, sizeof(struct node *));
    t->room = calloc(capacity, item_size);
    return t->bucket && t->room;
}

void table_free(struct table *t) {
    for (struct node *n = t->gone ? t->oldest : NULL; n; n = n->newer)
        t->gone(t->context, n);
    free(t->bucket);
    free(t->room);
    *t = (struct table){0};
}

static struct node **place_of(struct table *t, uint64_t key) {
    return &t->bucket[(key * 0x9e3779b97f4a7c15 >> 32) % t->capacity];
}

static void unlink_age(struct table *t, struct node *n) {
    *(n->older ? &n->older->newer : &t->oldest) = n->newer;
    *(n->newer ? &n->newer->older : &t->newest) = n->older;
}

static void link_newest(struct table *t, struct node *n) {
    n->older = t->newest;
    n->newer = NULL;
    *(t->newest ? &t->newest->newer : &t->oldest) = n;
    t->newest = n;
}

void *table_find(struct table *t, uint64_t key) {
    struct node *n = *place_of(t, key);
    while (n && n->key != key)
        n = n->chain;
    if (n && n != t->newest) {
        unlink_age(t, n);
        link_newest(t, n);
    }
    return n;
}

void table_drop(struct table *t, void *item) {
    struct node *n = item;
    if (t->gone)
        t->gone(t->context, item);
    struct node **p = place_of(t, n->key);
    while (*p != n)
        p = &(*p)->chain;
    *p = n->chain;
    unlink_age(t, n);
    n->chain = t->unused;
    t->unused = n;
}

static struct node *take_room(struct table *t) {
    if (!t->unused && t->used < t->capacity)
        return (struct node *)(void *)(t->room + t->item_size * t->used++);
    if (!t->unused) {
        t->evicted++;
        table_drop(t, t->oldest);
    }
    struct node *n = t->unused;
    t->unused = n->chain;
    return n;
}

void *table_add(struct table *t, uint64_t key) {
    struct node *n = take_room(t);
    memset(n, 0, t->item_size);
    n->key = key;
    struct node **place = place_of(t, key);
    n->chain = *place;
    *place = n;
    link_newest(t, n);
    return n;
}
