/* SPDX-License-Identifier: MIT */
#include "shim_reentry.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "fds.h"
#include "coalesce_buffer.h"
#include "reentry.h"
#include "raw.h"
#include "readable.h"
#include "shim_parts.h"
#include "ticker_thread.h"

/* The connection of fd, without its lock.  The second look at fd shows that the generation is its own. */
static struct call call_on(int fd) {
    struct conn *c = fds_conn(fds_word(fd));
    struct call call = {c, c ? LOAD_ACQUIRE(&c->generation) : 0};
    return fds_conn(fds_word(fd)) == c ? call : (struct call){0};
}

/* Keeps the bytes of a handler's write for later.  Bytes that do not fit are not accepted (a
 * partial write).  Without memory the write fails: sent at once it would overtake the bytes
 * in front of it. */
static ssize_t defer(struct call call, const struct write_request *o, const struct parts *p) {
    size_t room = p->bytes < PIECE_MOST ? p->bytes : PIECE_MOST;
    if (room == 0)
        return shim_forward(o);
    if (!shim_parts_readable(p, room))
        return shim_fail(EFAULT, o->flags);
    struct piece *piece = reentry_piece(call.generation, room);
    if (!piece)
        return shim_fail(ENOBUFS, o->flags);
    for (size_t i = 0; i < p->count && piece->bytes < room; i++) {
        size_t left = room - piece->bytes;
        size_t n = p->iov[i].iov_len < left ? p->iov[i].iov_len : left;
        memcpy(piece->data + piece->bytes, p->iov[i].iov_base, n);
        piece->bytes += (uint32_t)n;
    }
    reentry_keep_aside(call.conn, piece);
    return (ssize_t)room;
}

/* True: the interrupted code may have bytes of its own.  vfork(2) suspends this thread; the
 * kernel delivers pending signals before the thread can clear `vforked`.  A handler can then run
 * in the parent with the mark set, while other threads have buffered bytes. */
static bool ours_beneath_us(void) {
    if (UNLIKELY(self.vforked))
        return LOAD(&ticker_process) && raw0(SYS_getpid) == LOAD(&ticker_process);
    return self.depth || self.draining;
}

ssize_t reentry_write(const struct write_request *o) {
    bool ours_beneath = ours_beneath_us();
    const struct call call = ours_beneath ? call_on(o->fd) : (struct call){0};
    struct conn *c = call.conn;
    struct parts p;
    if (!c || (LOAD(&c->policy.mode) != MODE_COALESCE && !LOAD(&c->buffer) && !LOAD(&c->deferred)))
        return shim_forward(o);
    shim_parts_of(o, &p);
    if (!p.valid)
        return shim_forward(o);
    struct conn *outer = self.locked;
    ssize_t sent;
    if (lock_is_mine(&c->lock) || !conn_trylock(c)) {
        sent = defer(call, o, &p);
    } else if (c->draining) {
        conn_unlock(c);
        self.locked = outer;
        sent = defer(call, o, &p);
    } else if (buffer_length(c) && !call_is_stale(call)) {
        c->counts.bytes += p.bytes;
        sent = shim_send_after_buffered(c, o, &p);
    } else {
        conn_unlock(c);
        self.locked = outer;
        sent = shim_forward(o);
    }
    self.locked = outer;
    return sent;
}

bool reentry_stands_behind_slow(int fd) {
    struct conn *c = fds_conn(fds_word(fd));
    bool beneath = self.depth || self.vforked || self.draining == c;
    return c && beneath && ours_beneath_us() &&
           (LOAD(&c->policy.mode) == MODE_COALESCE || LOAD(&c->buffer) || LOAD(&c->deferred));
}

/* Reads the bytes and keeps them for later: the kernel would send them before the earlier bytes. */
ssize_t reentry_move(int fd, int from, off64_t *offset, size_t bytes) {
    const struct call call = call_on(fd);
    if (!call.conn)
        return shim_fail(EBADF, MSG_NOSIGNAL); /* closed meanwhile */
    if (offset && !readable(offset, sizeof(*offset)))
        return shim_fail(EFAULT, MSG_NOSIGNAL);
    struct piece *piece = reentry_piece(call.generation, bytes);
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

int reentry_messages(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    unsigned sent = 0;
    for (; sent < count && sent < IOV_MAX; sent++) {
        if (!readable(&messages[sent], sizeof(messages[sent])))
            return sent ? (int)sent : (int)shim_fail(EFAULT, flags);
        ssize_t n = reentry_write(&(struct write_request){.fd = fd,
                                               .form = FORM_SENDMSG,
                                               .message = &messages[sent].msg_hdr,
                                               .flags = flags});
        if (n < 0)
            return sent ? (int)sent : -1;
        messages[sent].msg_len = (unsigned)n;
    }
    return (int)sent;
}
