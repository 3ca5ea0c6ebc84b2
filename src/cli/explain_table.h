/* SPDX-License-Identifier: MIT
 *
 * A table of fixed size, from numbers to items, that gives up the item that was not
 * looked at for longest when a new one needs room: what reads a file of any size with it
 * stays within its memory.
 *
 * Ownership: the table owns its items. An item's type begins with a struct node.
 */
#ifndef UNSTALL_CLI_EXPLAIN_TABLE_H
#define UNSTALL_CLI_EXPLAIN_TABLE_H

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
    void (*gone)(void *context, void *item); /* before an item is given up or dropped */
    void *context;
    uint64_t given_up;
};

bool table_make(struct table *t, uint32_t capacity, size_t item_size,
                void (*gone)(void *context, void *item), void *context);

/* Hands every item to `gone` first. */
void table_free(struct table *t);

void *table_find(struct table *t, uint64_t key); /* NULL: none */
void *table_add(struct table *t,
                uint64_t key); /* the item, all zero but for its node; key is new */
void table_drop(struct table *t, void *item);

/* All items: for (n = t->oldest; n; n = n->newer). */

#endif
