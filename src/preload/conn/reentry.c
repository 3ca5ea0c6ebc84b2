/* SPDX-License-Identifier: MIT
 *
 * What a call does that cannot have a lock, and how the holder makes up for it: reentry.h tells the
 * protocol.
 *
 * Setting aside: one word, c->aside, whose low bits are flags and whose other bits are the list of pieces.
 * It changes by compare-and-swap alone.  Whoever sets something aside then tries the lock; whoever frees
 * the lock then looks at the word: so one of the two takes it in (reentry_take_in, in an order that a
 * reader can check: the drain that is over, the numbers, the pieces, the rest, a flush).
 *
 * Handlers that do not return: reentry_is_over() finds them by the stack, reentry_abandon() is called by
 * longjmp(3) and at a thread's end.  Both free this thread's locks, and resolve what a send had begun
 * (buffer_resolve).
 */
#include "reentry.h"

#include "coalesce_buffer.h"
#include "config.h"
#include "fds.h"

struct piece *reentry_piece(uint32_t generation, uint32_t room) {
    struct piece *piece = raw_map(sizeof(*piece) + room);
    if (piece)
        piece->generation = generation, piece->room = room;
    return piece;
}

void reentry_unmap(struct piece *piece) {
    raw_unmap(piece, sizeof(*piece) + piece->room);
}

/* ---- setting aside ----------------------------------------------------- */

/* The latest piece: pieces are mappings, so the flags fit into the low bits of the address. */
static struct piece *latest_in(uintptr_t aside) {
    return (struct piece *)(aside & ~(uintptr_t)CONN_ASIDE_FLAGS);
}

static void now_or_at_the_unlock(struct conn *c) {
    if (!lock_is_mine(&c->lock))
        reentry_catch_up(c); /* the holder may have unlocked just before */
}

void reentry_keep_aside(struct conn *c, struct piece *piece) {
    uintptr_t before = LOAD(&c->aside);
    do
        piece->next = latest_in(before);
    while (!REPLACE(&c->aside, &before, (uintptr_t)piece | (before & CONN_ASIDE_FLAGS),
                    __ATOMIC_SEQ_CST));
    now_or_at_the_unlock(c);
}

void reentry_set_aside(struct conn *c, unsigned flags, unsigned instead) {
    uintptr_t before = LOAD(&c->aside);
    while (!REPLACE(&c->aside, &before, (before & ~(uintptr_t)instead) | flags, __ATOMIC_SEQ_CST))
        ;
    now_or_at_the_unlock(c);
}

struct conn *reentry_unlink_begins(int fd, int *other) {
    struct conn *c = ours_aside() ? fds_conn(fds_swap_unknown(fd)) : NULL;
    *other = c ? fds_number_of(c) : -1;
    return c;
}

/* The holder of the lock must not act on the number's next owner. */
void reentry_unlink(int fd) {
    int other;
    struct conn *c = reentry_unlink_begins(fd, &other);
    if (!c)
        return;
    REPLACE(&c->fd, &(int){fd}, other, __ATOMIC_RELAXED);
    reentry_set_aside(c, ASIDE_NUMBERS, 0);
}

/* Beneath a short lock nothing is waited for: the holder may wait for that one. */
struct conn *reentry_lock(int fd, struct conn **outer) {
    uintptr_t word = fds_word(fd);
    struct conn *c = fds_conn(word);
    *outer = self.locked;
    if (!c || !ours_aside() || lock_is_mine(&c->lock) ||
        !(self.spinning ? conn_trylock(c) : conn_lock(c)))
        return NULL;
    if (fds_word(fd) == word)
        return c;
    conn_unlock(c);
    self.locked = *outer;
    return NULL;
}

/* ---- making up for it ---------------------------------------------------- */

static void put_behind(struct conn *c, const struct piece *piece) {
    if (piece->generation != c->generation)
        return; /* of a connection that was closed */
    if (c->shut_when_sent || c->pending_error)
        return; /* shut down since; or bytes in front of it are lost */
    if (buffer_add(c, piece->data, piece->bytes))
        conn_count_bytes(c, piece->bytes);
    else
        buffer_keep_error(c, ENOBUFS);
}

/* The latest is on top: the first one of all. */
static struct piece *in_order(struct piece *last) {
    struct piece *first = NULL;
    while (last) {
        struct piece *earlier = last->next;
        last->next = first;
        first = last;
        last = earlier;
    }
    return first;
}

static void put_all_behind(struct conn *c, struct piece *last) {
    for (struct piece *piece = in_order(last), *next; piece; piece = next) {
        next = piece->next;
        put_behind(c, piece);
        reentry_unmap(piece);
    }
}

/* While a thread drains the buffer, what must stand behind its bytes waits. */
static uintptr_t can_be_taken(const struct conn *c, uintptr_t aside) {
    enum { BEHIND = ASIDE_SHUT | ASIDE_SHUTS };
    bool waits = LOAD(&c->draining) && !(aside & ASIDE_DRAINED);
    return waits ? aside & (CONN_ASIDE_FLAGS & ~(uintptr_t)BEHIND) : aside;
}

void reentry_take_in(struct conn *c) {
    uintptr_t aside = LOAD(&c->aside), taken;
    if (!can_be_taken(c, aside))
        return;
    /* a handler that jumped out of here would lose the pieces already off the list */
    uint64_t before = raw_block_signals(~UINT64_C(0));
    do
        taken = can_be_taken(c, aside);
    while (!REPLACE(&c->aside, &aside, aside & ~taken, __ATOMIC_SEQ_CST));
    unsigned flags = (unsigned)(taken & CONN_ASIDE_FLAGS);
    if (flags & ASIDE_DRAINED)
        buffer_drained(c);
    if (flags & ASIDE_NUMBERS)
        conn_missed(c, ASIDE_NUMBERS);
    put_all_behind(c, latest_in(taken));
    if (flags & ~(unsigned)(ASIDE_DRAINED | ASIDE_NUMBERS))
        conn_missed(c, flags & ~(unsigned)(ASIDE_DRAINED | ASIDE_NUMBERS));
    bool flushed = c->draining || buffer_flush(c, 0);
    if (!flushed) {
        c->flush_blocked = true;
        policy_no_room(&c->policy);
    }
    if (!flushed || c->lingering)
        conn_waits(c);
    raw_set_signals(before);
}

void reentry_catch_up(struct conn *c) {
    struct conn *outer = self.locked;
    /* If the lock is taken, its holder looks again at the unlock; so does a thread that drains.  The load is
     * ordered behind the store of `aside`, as in conn_unlock(). */
    if (can_be_taken(c, __atomic_load_n(&c->aside, __ATOMIC_SEQ_CST)) && conn_trylock(c))
        conn_unlock(c);
    self.locked = outer;
}

void reentry_forget(struct conn *c) {
    struct piece *latest = latest_in(__atomic_exchange_n(&c->aside, 0, __ATOMIC_SEQ_CST));
    for (struct piece *piece = latest, *next; piece; piece = next) {
        next = piece->next;
        reentry_unmap(piece);
    }
}

/* The holder may be stopped inside a send, and may go on afterwards. */
bool reentry_last(struct conn *c) {
    if (!buffer_send_last(c))
        return false;
    if (!conn_has_aside(c))
        return true;
    uintptr_t aside = __atomic_fetch_and(&c->aside, CONN_ASIDE_FLAGS, __ATOMIC_SEQ_CST);
    bool sent = true;
    for (struct piece *piece = in_order(latest_in(aside)); piece && sent; piece = piece->next) {
        struct iovec part = {piece->data, piece->bytes};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        if (piece->generation != c->generation)
            continue;
        conn_count_bytes(c, piece->bytes);
        sent = kernel->send(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)piece->bytes;
    }
    return sent;
}

/* ---- handlers that do not return ------------------------------------- */

/* The write that was abandoned was counted, perhaps, and not made.  Where bytes are buffered no other thread
 * writes, so the kernel's count and the buffer are all. */
static void count_anew(struct conn *c) {
    struct kernel_tcp_info now;
    if (policy_buffers(&c->policy) && c->origin != ORIGIN_FOREIGN && !c->policy.mptcp &&
        kernel->tcp_info(c->fd, &now) == 0)
        STORE(&c->counts.bytes, now.bytes_sent + now.bytes_queued + buffer_length(c));
}

static void release(struct conn *c) {
    buffer_resolve(c);
    buffer_free_if_empty(c);
    if (!config()->no_syscalls)
        count_anew(c);
    self.depth = 1;
    conn_unlock(c);
}

/* A jump or a cancellation abandons the blocking send of buffered bytes. */
static void stop_draining(void) {
    struct conn *c = self.draining;
    reentry_drains(NULL);
    if (!c)
        return;
    bool locked = conn_lock(c);
    struct coalesce_buffer *g = c->draining ? LOAD(&c->buffer) : NULL;
    if (g)
        g->drained = DRAIN_ABANDONED;
    if (locked) {
        buffer_drained(c);
        conn_unlock(c);
    } else if (g) {
        reentry_set_aside(c, ASIDE_DRAINED, 0);
    }
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

enum {
    BELOW = 256,  /* of a section that calls nothing of others: a signal's frame has 700 bytes or more */
    ABOVE = 1024, /* no other stack begins in between: our own calls need more room than that */
};

/* True: what began at `frame` is over, because this call has its place on the stack.  A handler that is
 * still there, and what we have called, are further below; another stack, of a coroutine or an alternate
 * one, is further away.  A program whose handler has left mostly makes its next call from where it made the
 * last one. */
static bool is_over(uintptr_t frame, uintptr_t below) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here + below >= frame && here < frame + ABOVE;
}

__attribute__((noinline)) bool reentry_is_over(void) {
    if (self.vforked || (self.depth && !is_over(self.frame, BELOW)))
        return false;
    if (self.depth)
        reentry_abandon();
    if (self.drains && is_over(self.drain_frame, 0))
        stop_draining();
    return true;
}
