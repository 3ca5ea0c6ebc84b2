/* SPDX-License-Identifier: MIT */
#include "reentry.h"

#include <errno.h>

#include "coalesce_buffer.h"
#include "raw.h"
#include "ticker.h"

struct piece *reentry_piece(uint32_t generation, size_t bytes) {
    uint32_t room = bytes < PIECE_MOST ? (uint32_t)bytes : PIECE_MOST;
    struct piece *piece = raw_map(sizeof(*piece) + room);
    if (piece)
        piece->generation = generation, piece->room = room;
    return piece;
}

void reentry_unmap(struct piece *piece) {
    raw_unmap(piece, sizeof(*piece) + piece->room);
}

/* ---- keeping aside ----------------------------------------------------- */

void reentry_keep_aside(struct conn *c, struct piece *piece) {
    piece->next = LOAD(&c->deferred);
    while (!REPLACE(&c->deferred, &piece->next, piece, __ATOMIC_SEQ_CST))
        ;
    if (!lock_is_mine(&c->lock))
        reentry_catch_up(c); /* the holder may have unlocked just before */
}

/* ---- appending to the buffer --------------------------------------------- */

static void put_behind(struct conn *c, const struct piece *piece) {
    if (piece->generation != c->generation || c->shut_when_sent)
        return; /* of a connection that was closed, or shut down since */
    c->counts.bytes += piece->bytes;
    if (!buffer_add(c, piece->data, piece->bytes))
        conn_keep_error(c, ENOBUFS);
}

void reentry_take_in(struct conn *c) {
    if (c->draining)
        return; /* appended when draining is over */
    /* a handler that jumped out of this loop would lose the pieces already off the list */
    uint64_t before = raw_block_signals(~UINT64_C(0));
    struct piece *last = __atomic_exchange_n(&c->deferred, NULL, __ATOMIC_SEQ_CST), *first = NULL;
    while (last) { /* the latest is on top */
        struct piece *earlier = last->next;
        last->next = first;
        first = last;
        last = earlier;
    }
    while (first) {
        struct piece *piece = first;
        first = piece->next;
        put_behind(c, piece);
        reentry_unmap(piece);
    }
    if (!buffer_flush(c, 0)) {
        c->flush_blocked = true;
        policy_no_room(&c->policy);
        ticker_watch(c);
    }
    raw_set_signals(before);
}

void reentry_catch_up(struct conn *c) {
    struct conn *outer = self.locked;
    /* If the lock is taken, its holder looks again at the unlock; so does a thread that drains.  The load is
     * ordered behind the store of `deferred`, as in conn_unlock(). */
    if (!__atomic_load_n(&c->draining, __ATOMIC_SEQ_CST) && conn_trylock(c))
        conn_unlock(c);
    self.locked = outer;
}

void reentry_forget(struct conn *c) {
    struct piece *piece = __atomic_exchange_n(&c->deferred, NULL, __ATOMIC_SEQ_CST);
    while (piece) {
        struct piece *next = piece->next;
        reentry_unmap(piece);
        piece = next;
    }
}

/* ---- handlers that do not return ------------------------------------- */

static void release(struct conn *c) {
    buffer_resolve(c);
    self.depth = 1;
    conn_unlock(c);
}

/* A longjmp or a cancellation leaves the blocking send of buffered bytes. */
static void stop_draining(void) {
    struct conn *c = self.draining;
    self.draining = NULL;
    if (!c)
        return;
    conn_lock(c);
    if (c->draining) {
        STORE(&c->draining, false);
        conn_wake_writers();
        buffer_resolve(c);
    }
    conn_unlock(c);
}

void reentry_abandon(void) {
    if (UNLIKELY(self.draining != NULL) && !self.vforked && self.depth == 0)
        stop_draining();
    if (LIKELY(self.depth == 0) || self.vforked)
        return;
    /* a lock that we were waiting for: we may have consumed its wake-up, so pass that on */
    if (self.spinning && lock_is_mine(self.spinning))
        lock_free(self.spinning);
    else if (self.spinning)
        lock_wake(self.spinning);
    self.spinning = NULL;
    if (self.locked && lock_is_mine(&self.locked->lock))
        release(self.locked);
    else if (self.locked)
        lock_wake(&self.locked->lock);
    self.locked = NULL;
    self.depth = 0;
}
