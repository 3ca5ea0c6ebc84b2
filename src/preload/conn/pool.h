/* SPDX-License-Identifier: MIT
 *
 * Pieces of one size, from mapped chunks that are never unmapped.  The first word of a free
 * piece points to the next one.  Writes on the fast path do not use a pool (spin.h).
 */
#ifndef UNSTALL_POOL_H
#define UNSTALL_POOL_H

#include "raw.h"
#include "spin.h"

struct pool {
    void *free;
    uint32_t lock;
};

static inline void pool_push(struct pool *p, void *piece) {
    *(void **)piece = p->free;
    p->free = piece;
}

static inline void pool_give(struct pool *p, void *piece) {
    spin_lock(&p->lock);
    pool_push(p, piece);
    spin_unlock(&p->lock);
}

/* A piece of `each` bytes.  If none is free, maps a chunk of `count` pieces.  NULL: no memory. */
static inline void *pool_take(struct pool *p, size_t each, size_t count) {
    spin_lock(&p->lock);
    char *chunk = p->free ? NULL : raw_map(each * count);
    for (size_t i = count; chunk && i-- > 0;)
        pool_push(p, chunk + each * i);
    void *piece = p->free;
    if (piece)
        p->free = *(void **)piece;
    spin_unlock(&p->lock);
    return piece;
}

#endif
