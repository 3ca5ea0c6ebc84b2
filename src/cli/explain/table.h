/* SPDX-License-Identifier: MIT
 *
 * A table from numbers to items with a fixed size and LRU eviction: when it is full, a new item takes the
 * place of the item that was looked up least recently.  A file of any size is so read in constant memory.
 *
 * Ownership: the table owns its items.  The type of an item begins with a struct node.
 */
#ifndef UNSTALL_CLI_TABLE_H
#define UNSTALL_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node {
    uint64_t key;
    struct node *chain, *older, *newer;
};

struct table {
    size_t item_size;
    uint32_t capacity, used;
    struct node *oldest, *newest, *unused;
    struct node **bucket;
    char *room;
    void (*gone)(void *context, void *item); /* called before an item is evicted or dropped, or NULL */
    void *context;
    uint64_t evicted;
};

bool table_make(struct table *t, uint32_t capacity, size_t item_size,
                void (*gone)(void *context, void *item), void *context);

/* Calls `gone` for every item first. */
void table_free(struct table *t);

/* The item with this key, or NULL; it becomes the newest. */
void *table_find(struct table *t, uint64_t key);

/* A new item, all zero except its node; no item has this key yet. */
void *table_add(struct table *t, uint64_t key);

void table_drop(struct table *t, void *item);

/* All items: for (n = t->oldest; n; n = n->newer). */

#endif
