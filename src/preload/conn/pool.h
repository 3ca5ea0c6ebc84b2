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

/* Where the lock cannot be had, the piece is lost. */
static inline void pool_give(struct pool *p, void *piece) {
    if (!spin_lock(&p->lock))
        return;
    pool_push(p, piece);
    spin_unlock(&p->lock);
}

/* A piece of `each` bytes.  If none is free, maps a chunk of `count` pieces.  NULL: no memory, or the
 * lock cannot be had. */
static inline void *pool_take(struct pool *p, size_t each, size_t count) {
    if (!spin_lock(&p->lock))
        return NULL;
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
