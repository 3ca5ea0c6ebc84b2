/* SPDX-License-Identifier: MIT */
#include "nested.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "fds.h"
#include "gather.h"
#include "kernel.h"
#include "raw.h"
#include "readable.h"
#include "shim_parts.h"
#include "ticker.h"

enum { PIECE_MOST = 65536, KERNEL_SIGSET = 8 /* bytes, rt_sigprocmask(2) */ };

/* What one write of a handler left: a mapping of its own, because a handler may call
 * nothing that locks. */
struct piece {
    struct piece *next;
    int fd; /* that it was written to */
    uint32_t bytes, room;
    char data[];
};

static struct piece *new_piece(int fd, size_t bytes) {
    uint32_t room = bytes < PIECE_MOST ? (uint32_t)bytes : PIECE_MOST;
    struct piece *piece = raw_map(sizeof(*piece) + room);
    if (piece)
        piece->fd = fd, piece->room = room;
    return piece;
}

static void unmap(struct piece *piece) {
    raw_unmap(piece, sizeof(*piece) + piece->room);
}

/* ---- keeping aside ----------------------------------------------------- */

static void keep_aside(struct conn *c, struct piece *piece) {
    piece->next = LOAD(&c->deferred);
    while (!__atomic_compare_exchange_n(&c->deferred, &piece->next, piece, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
        ;
    if (!lock_is_mine(&c->lock))
        nested_catch_up(c); /* its holder may just have gone */
}

/* What does not fit is not accepted (a short write).  Where there is no memory the write
 * fails: sent plainly it would overtake what stands before it. */
static ssize_t defer(struct conn *c, const struct out *o, const struct parts *p) {
    size_t room = p->bytes < PIECE_MOST ? p->bytes : PIECE_MOST;
    if (room == 0)
        return shim_forward(o);
    if (!shim_parts_readable(p, room))
        return shim_fail(EFAULT, o->flags);
    struct piece *piece = new_piece(o->fd, room);
    if (!piece)
        return shim_fail(ENOBUFS, o->flags);
    for (size_t i = 0; i < p->count && piece->bytes < room; i++) {
        size_t left = room - piece->bytes;
        size_t n = p->iov[i].iov_len < left ? p->iov[i].iov_len : left;
        memcpy(piece->data + piece->bytes, p->iov[i].iov_base, n);
        piece->bytes += (uint32_t)n;
    }
    keep_aside(c, piece);
    return (ssize_t)room;
}

/* ---- making good -------------------------------------------------------- */

static void put_behind(struct conn *c, const struct piece *piece) {
    struct iovec part = {(void *)(uintptr_t)piece->data, piece->bytes};
    if (fds_conn(fds_word(piece->fd)) != c)
        return; /* closed since */
    c->counts.bytes += piece->bytes;
    if (!gather_add_all(c, &part, 1, piece->bytes))
        conn_keep_error(c, ENOBUFS);
}

void nested_take_in(struct conn *c) {
    uint64_t all = ~UINT64_C(0), before;
    if (c->draining)
        return; /* comes behind it, when that is over */
    /* a handler that jumped out of this would lose what is off the list */
    raw4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, KERNEL_SIGSET);
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
        unmap(piece);
    }
    if (!gather_flush(c, 0)) {
        c->stuck = true;
        policy_no_room(&c->policy);
        ticker_watch(c);
    }
    raw4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, KERNEL_SIGSET);
}

void nested_catch_up(struct conn *c) {
    struct conn *outer = self.locked;
    /* not to be had: its holder looks when he lets it go; being drained: who drains looks */
    if (!LOAD(&c->draining) && conn_trylock(c))
        conn_unlock(c);
    self.locked = outer;
}

void nested_forget(struct conn *c) {
    struct piece *piece = __atomic_exchange_n(&c->deferred, NULL, __ATOMIC_SEQ_CST);
    while (piece) {
        struct piece *next = piece->next;
        unmap(piece);
        piece = next;
    }
}

/* ---- the call ------------------------------------------------------------ */

/* Signals that came while vfork kept this thread are delivered before it can take its mark
 * off: it is the parent all the same, and other threads may have gathered meanwhile. */
static bool ours_beneath_us(void) {
    if (UNLIKELY(self.vforked))
        return LOAD(&ticker_process) && raw0(SYS_getpid) == LOAD(&ticker_process);
    return self.depth || self.draining;
}

ssize_t nested_write(const struct out *o) {
    bool ours_beneath = ours_beneath_us();
    struct conn *c = ours_beneath ? fds_conn(fds_word(o->fd)) : NULL;
    struct parts p;
    if (!c || (LOAD(&c->policy.mode) != MODE_COALESCE && !LOAD(&c->gather) && !LOAD(&c->deferred)))
        return shim_forward(o);
    shim_parts_of(o, &p);
    if (!p.valid)
        return shim_forward(o);
    struct conn *outer = self.locked;
    ssize_t sent;
    if (lock_is_mine(&c->lock) || !conn_trylock(c)) {
        sent = defer(c, o, &p);
    } else if (c->draining) {
        conn_unlock(c);
        self.locked = outer;
        sent = defer(c, o, &p);
    } else if (gather_length(c)) {
        c->counts.bytes += p.bytes;
        sent = shim_send_after_gathered(c, o, &p);
    } else {
        conn_unlock(c);
        self.locked = outer;
        sent = shim_forward(o);
    }
    self.locked = outer;
    return sent;
}

bool nested_stands_behind_slow(int fd) {
    struct conn *c = fds_conn(fds_word(fd));
    bool beneath = self.depth || self.vforked || self.draining == c;
    return c && beneath && ours_beneath_us() &&
           (LOAD(&c->policy.mode) == MODE_COALESCE || LOAD(&c->gather) || LOAD(&c->deferred));
}

/* Read and kept aside: the kernel would put it before what it stands behind. */
ssize_t nested_move(int fd, int from, off_t *offset, size_t bytes) {
    struct conn *c = fds_conn(fds_word(fd));
    if (offset && !readable(offset, sizeof(*offset)))
        return shim_fail(EFAULT, MSG_NOSIGNAL);
    struct piece *piece = new_piece(fd, bytes);
    if (!piece)
        return shim_fail(ENOMEM, MSG_NOSIGNAL);
    struct iovec part = {piece->data, piece->room};
    /* preadv(2) of offset -1 reads from where the file is and moves on */
    long got = raw6(SYS_preadv2, from, (long)&part, 1, offset ? *offset : -1L, 0, 0);
    if (got <= 0) {
        unmap(piece);
        return got < 0 ? shim_fail((int)-got, MSG_NOSIGNAL) : 0;
    }
    if (offset)
        *offset += got;
    piece->bytes = (uint32_t)got;
    keep_aside(c, piece);
    return got;
}

int nested_messages(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    unsigned sent = 0;
    for (; sent < count && sent < IOV_MAX; sent++) {
        if (!readable(&messages[sent], sizeof(messages[sent])))
            return sent ? (int)sent : (int)shim_fail(EFAULT, flags);
        ssize_t n = nested_write(&(struct out){.fd = fd,
                                               .form = OUT_SENDMSG,
                                               .message = &messages[sent].msg_hdr,
                                               .flags = flags});
        if (n < 0)
            return sent ? (int)sent : -1;
        messages[sent].msg_len = (unsigned)n;
    }
    return (int)sent;
}

/* ---- handlers that do not come back ---------------------------------- */

static void release(struct conn *c) {
    gather_resolve(c);
    self.depth = 1;
    conn_unlock(c);
}

/* The blocking send of gathered bytes is left, by longjmp or by cancellation. */
static void stop_draining(void) {
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
        stop_draining();
    if (LIKELY(self.depth == 0) || self.vforked)
        return;
    /* one that is not ours: we were woken to take it, perhaps, while others sleep on */
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

static void flush(struct conn *c, void *unused) {
    (void)unused;
    gather_flush(c, 0);
}

void nested_process_ends(void) {
    if (self.depth == 0 || self.vforked)
        return;
    if (*LOAD(&gate) != GATE_OPEN)
        return; /* a child that the handler forked: what is gathered is the parent's to send */
    nested_abandon();
    fds_each(flush, NULL);
}
