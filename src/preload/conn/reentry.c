/* SPDX-License-Identifier: MIT */
#include "reentry.h"

#include <errno.h>
#include <string.h>

#include "coalesce_buffer.h"
#include "config.h"
#include "fds.h"
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

enum { LOOKS = 1000, LOOK_NS = 100000 }; /* for a lock of another thread's: a tenth of a second */

/* The last one of a list: a handler has closed a descriptor. */
static struct piece closed;

/* ---- keeping aside ----------------------------------------------------- */

void reentry_keep_aside(struct conn *c, struct piece *piece) {
    piece->next = LOAD(&c->deferred);
    while (!REPLACE(&c->deferred, &piece->next, piece, __ATOMIC_SEQ_CST))
        ;
    if (!lock_is_mine(&c->lock))
        reentry_catch_up(c); /* the holder may have unlocked just before */
}

bool reentry_note(int fd, int level, int name, const void *value, uint32_t length) {
    struct conn *c = beneath() && !config()->no_syscalls ? fds_conn(fds_word(fd)) : NULL;
    uint32_t generation = c ? LOAD_ACQUIRE(&c->generation) : 0;
    bool is_its_own = c && fds_conn(fds_word(fd)) == c;
    struct piece *piece = is_its_own ? reentry_piece(generation, length) : NULL;
    if (!piece)
        return false;
    piece->level = level;
    piece->name = name;
    piece->bytes = length;
    memcpy(piece->data, value, length);
    reentry_keep_aside(c, piece);
    return true;
}

void reentry_left(int fd) {
    struct piece *none = NULL;
    struct conn *c = beneath() ? fds_conn(fds_take(fd)) : NULL;
    if (!c)
        return;
    bool mine = lock_is_mine(&c->lock);
    if (mine && c->fd == fd)
        c->fd = -1; /* the interrupted code must not act on the number's next owner */
    REPLACE(&c->deferred, &none, &closed, __ATOMIC_SEQ_CST);
    if (!mine)
        reentry_catch_up(c);
}

/* The holder is another thread.  It frees the lock soon, unless a handler has interrupted it, too.  Beneath a
 * short lock nothing is waited for: the holder may wait for that one. */
static bool lock_soon(struct conn *c) {
    bool mine = conn_trylock(c);
    for (int i = 0; i < LOOKS && !mine && !self.spinning; i++) {
        raw_sleep(LOOK_NS);
        mine = conn_trylock(c);
    }
    return mine;
}

struct conn *reentry_lock(int fd, struct conn **outer) {
    uintptr_t word = fds_word(fd);
    struct conn *c = fds_conn(word);
    *outer = self.locked;
    if (!c || !beneath() || lock_is_mine(&c->lock) || !lock_soon(c))
        return NULL;
    if (fds_word(fd) == word)
        return c;
    conn_unlock(c);
    self.locked = *outer;
    return NULL;
}

/* ---- appending to the buffer --------------------------------------------- */

static void put_behind(struct conn *c, const struct piece *piece) {
    if (piece->generation != c->generation)
        return; /* of a connection that was closed */
    if (piece->level) {
        conn_missed(c, piece->level, piece->name, piece->data, piece->bytes);
        return;
    }
    if (c->shut_when_sent)
        return; /* shut down since */
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
    while (last && last != &closed) { /* the latest is on top */
        struct piece *earlier = last->next;
        last->next = first;
        first = last;
        last = earlier;
    }
    conn_missed(c, MISSED_CLOSE, 0, NULL, 0); /* perhaps: `closed` is put on an empty list only */
    while (first) {
        struct piece *piece = first;
        first = piece->next;
        put_behind(c, piece);
        reentry_unmap(piece);
    }
    bool flushed = buffer_flush(c, 0);
    if (!flushed) {
        c->flush_blocked = true;
        policy_no_room(&c->policy);
    }
    if (!flushed || c->lingering)
        ticker_watch(c);
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
    while (piece && piece != &closed) {
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
