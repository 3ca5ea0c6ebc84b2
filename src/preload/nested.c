/* SPDX-License-Identifier: MIT */
#include "nested.h"

#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "fds.h"
#include "gather.h"
#include "raw.h"

enum { DEFERRED_SIZE = 16384, TRIES = 10000, WAIT_MS = 100, WAITS = 50 };

/* A page of pieces, one after the other, each for the connection that it was written to. */
struct deferred {
    uint32_t used;
    char pieces[];
};

struct piece {
    struct conn *conn;
    int fd;
    uint32_t bytes;
    char data[];
};

static struct deferred *deferred_page(void) {
    if (self.deferred)
        return self.deferred;
    long p = raw6(SYS_mmap, 0, DEFERRED_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
    if (p < 0 && p > -4096)
        return NULL;
    struct deferred *d = (struct deferred *)p;
    d->used = offsetof(struct deferred, pieces);
    self.deferred = d;
    return d;
}

static uint32_t aligned(size_t bytes) {
    return (uint32_t)((bytes + _Alignof(struct piece) - 1) & ~(_Alignof(struct piece) - 1));
}

/* Keep the bytes aside.  What does not fit is not accepted (a short write). */
static ssize_t defer(struct conn *c, const struct out *o, const struct parts *p) {
    struct deferred *d = deferred_page();
    if (!d)
        return shim_forward(o);
    uint32_t start = aligned(d->used);
    size_t room = DEFERRED_SIZE > start + sizeof(struct piece)
                      ? DEFERRED_SIZE - start - sizeof(struct piece)
                      : 0;
    if (room == 0 || p->bytes == 0)
        return shim_forward(o);
    struct piece *piece = (struct piece *)((char *)d + start);
    *piece = (struct piece){.conn = c, .fd = o->fd};
    for (size_t i = 0; i < p->count && room; i++) {
        size_t n = p->iov[i].iov_len < room ? p->iov[i].iov_len : room;
        memcpy(piece->data + piece->bytes, p->iov[i].iov_base, n);
        piece->bytes += (uint32_t)n;
        room -= n;
    }
    d->used = start + (uint32_t)sizeof(*piece) + piece->bytes;
    return (ssize_t)piece->bytes;
}

static void send_piece(const struct piece *piece) {
    struct iovec part = {(void *)(uintptr_t)piece->data, piece->bytes};
    for (int i = 0; i < WAITS && part.iov_len; i++) {
        struct conn *c = fds_lock(piece->fd);
        if (c != piece->conn) {
            if (c)
                conn_unlock(c);
            return; /* closed since */
        }
        if (i == 0)
            c->counts.bytes += part.iov_len;
        ssize_t sent = gather_send(c, piece->fd, &part, 1, 0);
        conn_unlock(c);
        if (sent > 0) {
            part.iov_base = (char *)part.iov_base + sent;
            part.iov_len -= (size_t)sent;
        } else {
            struct pollfd wait = {.fd = piece->fd, .events = POLLOUT};
            struct timespec most = {.tv_nsec = WAIT_MS * 1000000L};
            raw5(SYS_ppoll, &wait, 1, &most, NULL, 0);
        }
    }
}

void nested_catch_up(void) {
    struct deferred *d = self.deferred;
    if (!d || self.depth || self.draining)
        return; /* what is being sent beneath stands before it */
    self.deferred = NULL;
    for (uint32_t at = aligned(offsetof(struct deferred, pieces)); at < d->used;) {
        const struct piece *piece = (const struct piece *)((char *)d + at);
        send_piece(piece);
        at = aligned(at + sizeof(*piece) + piece->bytes);
    }
    raw2(SYS_munmap, d, DEFERRED_SIZE);
}

static bool lock_soon(struct conn *c) {
    for (int i = 0; i < TRIES; i++) {
        if (conn_trylock(c))
            return true;
        if (i > TRIES / 2)
            raw0(SYS_sched_yield);
    }
    return false;
}

ssize_t nested_write(const struct out *o) {
    bool ours_beneath = (self.depth || self.draining) && !self.vforked;
    struct conn *c = ours_beneath ? fds_conn(fds_word(o->fd)) : NULL;
    struct parts p;
    if (!c || LOAD(&c->policy.mode) != MODE_COALESCE)
        return shim_forward(o);
    shim_parts_of(o, &p);
    if (!p.valid)
        return shim_forward(o);
    struct conn *outer = self.locked;
    if (outer == c || self.draining == c)
        return defer(c, o, &p);
    if (!LOAD(&c->gather) || !lock_soon(c))
        return shim_forward(o);
    c->counts.bytes += p.bytes;
    ssize_t sent = shim_send_after_gathered(c, o, &p);
    self.locked = outer;
    return sent;
}

/* ---- handlers that do not come back ---------------------------------- */

static void release(struct conn *c) {
    gather_resolve(c);
    self.depth = 1;
    conn_unlock(c);
}

/* The blocking send of gathered bytes is left, by longjmp or by cancellation. */
void nested_stop_draining(void) {
    struct conn *c = self.draining;
    self.draining = NULL;
    if (!c)
        return;
    conn_lock(c);
    if (c->draining) {
        c->draining = false;
        gather_resolve(c);
    }
    conn_unlock(c);
}

void nested_abandon(void) {
    if (UNLIKELY(self.draining != NULL) && !self.vforked && self.depth == 0)
        nested_stop_draining();
    if (LIKELY(self.depth == 0) || self.vforked)
        return;
    if (self.spinning && lock_is_mine(self.spinning))
        __atomic_store_n(self.spinning, lock_free_word(), __ATOMIC_RELEASE);
    self.spinning = NULL;
    if (self.locked && lock_is_mine(&self.locked->lock))
        release(self.locked);
    self.locked = NULL;
    self.depth = 0;
    nested_catch_up();
}

static void flush(struct conn *c, void *unused) {
    (void)unused;
    gather_flush(c, 0);
}

void nested_process_ends(void) {
    if (self.depth == 0 || self.vforked)
        return;
    nested_abandon();
    fds_each(flush, NULL);
}
