/* SPDX-License-Identifier: MIT
 *
 * A call that moves bytes, but cannot have the connection's lock: it passes, or its bytes are set aside
 * (reentry.h).  Also the errors that only we can tell: of bytes that a write had buffered, or kept.
 */

#include "coalesce.h"
#include "real.h"
#include "reentry.h"

/* ---- errors of our own sends ----------------------------------------- */

int shim_take_error(struct conn *c) {
    int error = c->pending_error;
    STORE(&c->pending_error, 0);
    return error;
}

ssize_t shim_tell_error(struct conn *c, int flags) {
    int error = shim_take_error(c);
    conn_unlock(c);
    return shim_fail(error, flags);
}

/* ---- the lock cannot be had ------------------------------------------------ */

/* Keeps the bytes of a write for later, in one piece.  A blocking write may be cut short only by a signal: it
 * has a long one, unless a handler makes it.  What does not fit is not accepted (a partial write).  Without
 * memory the write fails: sent at once it would overtake the bytes in front of it. */
static ssize_t defer(struct call call, const struct write_request *o, const struct parts *p) {
    enum { LONG_PIECE = 16 * PIECE_MOST };
    uint32_t most = PIECE_MOST;
    if (p->bytes == 0)
        return shim_forward(o);
    if (p->bytes > most && !self.busy && !shim_non_blocking(o))
        most = LONG_PIECE;
    if (most > p->bytes)
        most = (uint32_t)p->bytes;
    if (LOAD(&call.conn->aside) & (ASIDE_SHUT | ASIDE_SHUTS))
        return shim_fail(EPIPE, o->flags);
    if (!shim_parts_readable(p, most))
        return shim_fail(EFAULT, o->flags);
    struct piece *piece = reentry_piece(call.generation, most);
    if (!piece)
        return shim_fail(ENOBUFS, o->flags);
    for (size_t i = 0; i < p->count && piece->bytes < most; i++) {
        size_t room = most - piece->bytes, n = p->iov[i].iov_len < room ? p->iov[i].iov_len : room;
        memcpy(piece->data + piece->bytes, p->iov[i].iov_base, n);
        piece->bytes += (uint32_t)n;
    }
    reentry_keep_aside(call.conn, piece);
    return (ssize_t)most;
}

/* Passes a write that nothing stands in front of.  It is counted before it leaves, so that the kernel never
 * has more bytes than were counted; but in a mode that does not cure, nobody compares the counts, and the
 * caller's vector is not followed. */
static ssize_t pass(struct conn *c, const struct write_request *o) {
    struct parts p = {.bytes = o->bytes, .valid = true};
    if (mode_cures((enum mode)LOAD(&c->policy.mode)))
        shim_parts_of(o, &p);
    size_t counted = p.valid ? p.bytes : 0;
    conn_count_bytes(c, counted);
    ssize_t sent = shim_forward(o);
    conn_count_sent(c, counted, sent);
    if (sent > 0) {
        __atomic_fetch_add(&c->counts.writes, 1, __ATOMIC_RELAXED);
        if (LOAD(&c->held))
            reentry_set_aside(c, ASIDE_PUSH, 0); /* under Nagle they and this write may wait */
    }
    return sent;
}

/* True: the connections of this process are known to this call.  vfork(2) suspends this thread; the
 * kernel delivers pending signals before the thread can clear `vforked`.  A handler can then run
 * in the parent with the mark set, while other threads have buffered bytes. */
static bool knows_connections(void) {
    if (UNLIKELY(self.vforked))
        return LOAD(&window_process) && raw0(SYS_getpid) == LOAD(&window_process);
    return self.depth || self.draining || gate_enter();
}

/* True: this is no handler's call on the stack of the section that it has interrupted.  The handler has left,
 * or this is a coroutine's call, and the section goes on later. */
static bool comes_from_above(void) {
    return !self.vforked && (uintptr_t)__builtin_frame_address(0) > self.frame;
}

ssize_t aside_write(const struct write_request *o) {
    const struct call call = knows_connections() ? call_on(o->fd) : (struct call){0};
    struct conn *c = call.conn;
    struct parts p;
    if (!c)
        return shim_forward(o);
    if (!aside_may_stand_behind(c))
        return self.vforked ? shim_forward(o) : pass(c, o);
    shim_parts_of(o, &p);
    if (!p.valid)
        return shim_forward(o);
    struct conn *outer = self.locked;
    ssize_t sent;
    if (lock_is_mine(&c->lock) && comes_from_above() && !buffer_is_about_to_send(c) && reentry_last(c)) {
        sent = pass(c, o);
    } else if (lock_is_mine(&c->lock) || !conn_trylock(c)) {
        sent = defer(call, o, &p);
    } else if (c->draining) {
        conn_unlock(c);
        self.locked = outer;
        sent = defer(call, o, &p);
    } else if (buffer_length(c) && !call_is_stale(call)) {
        conn_count_bytes(c, p.bytes);
        sent = coalesce_send_with(c, o, &p);
    } else {
        conn_unlock(c);
        self.locked = outer;
        sent = self.vforked ? shim_forward(o) : pass(c, o);
    }
    self.locked = outer;
    return sent;
}

bool aside_stands_behind_slow(int fd) {
    bool over = !self.vforked && self.depth && gate_enter();
    struct conn *c = fds_conn(fds_word(fd));
    bool beneath = !over && (self.depth || self.vforked || self.draining == c);
    return c && beneath && knows_connections() && aside_may_stand_behind(c);
}

/* Reads the bytes and keeps them for later: the kernel would send them before the earlier bytes. */
ssize_t aside_move(int fd, int from, off64_t *offset, size_t bytes) {
    const struct call call = call_on(fd);
    if (!call.conn)
        return shim_fail(EBADF, MSG_NOSIGNAL); /* closed meanwhile */
    if (offset && !readable(offset, sizeof(*offset)))
        return shim_fail(EFAULT, MSG_NOSIGNAL);
    struct piece *piece = reentry_piece(call.generation, bytes < PIECE_MOST ? (uint32_t)bytes : PIECE_MOST);
    if (!piece)
        return shim_fail(ENOMEM, MSG_NOSIGNAL);
    struct iovec part = {piece->data, piece->room};
    /* preadv2(2) with offset -1 reads at the file offset and advances it */
    long got = raw6(SYS_preadv2, from, (long)&part, 1, RAW_HALVES(offset ? *offset : -1), 0);
    if (got <= 0) {
        reentry_unmap(piece);
        return got < 0 ? shim_fail((int)-got, MSG_NOSIGNAL) : 0;
    }
    if (offset)
        *offset += got;
    piece->bytes = (uint32_t)got;
    reentry_keep_aside(call.conn, piece);
    return got;
}

int aside_messages(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    unsigned sent = 0;
    for (; sent < count && sent < IOV_MAX; sent++) {
        if (!readable(&messages[sent], sizeof(messages[sent])))
            return sent ? (int)sent : (int)shim_fail(EFAULT, flags);
        ssize_t n = aside_write(&(struct write_request){
            .fd = fd, .form = FORM_SENDMSG, .message = &messages[sent].msg_hdr, .flags = flags});
        if (n < 0)
            return sent ? (int)sent : -1;
        messages[sent].msg_len = (unsigned)n;
    }
    return (int)sent;
}
