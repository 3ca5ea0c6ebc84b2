/* SPDX-License-Identifier: MIT
 *
 * The end of a connection: the last bytes first.  Where the kernel has no room for buffered bytes, a
 * descriptor of our own keeps the socket open, and the window's thread sends the rest (c->lingering).
 */
#include "turn.h"

#include "clock.h"
#include "coalesce_buffer.h"
#include "fds.h"
#include "kernel.h"
#include "report.h"
#include "window_state.h"

enum { SLICE_MS = 100 };

enum wait {
    WAIT_OVER,
    WAIT_GONE /* fd leads here no more */,
    WAIT_UNLOCKED /* the lock cannot be had again */
};

/* As the kernel's own wait, it ends at a signal. */
static enum wait wait_for_room(struct conn *c, int fd, int seconds) {
    uint16_t generation = c->generation;
    uint64_t until = clock_now() + (uint64_t)seconds * 1000000000;
    while (buffer_length(c) && !c->draining) {
        uint64_t before = clock_now();
        if (before >= until)
            break;
        uint64_t left = (until - before) / 1000000 + 1;
        int slice = left < SLICE_MS ? (int)left : SLICE_MS;
        conn_unlock(c);
        bool room = kernel->writable(fd, slice);
        bool interrupted = !room && clock_now() - before < (uint64_t)slice * 1000000;
        if (!conn_lock(c))
            return WAIT_UNLOCKED;
        if (c->generation != generation || fds_word(fd) != (uintptr_t)c)
            return WAIT_GONE;
        hold_push(c, PUSH_CLOSE);
        if (interrupted)
            break;
    }
    return WAIT_OVER;
}

enum close_lingers close_lingers(struct conn *c, int fd) {
    int seconds = kernel->linger(fd);
    if (seconds == 0 && !c->draining && !conn_is_shared(c)) {
        buffer_free(c); /* the close resets the connection: what was not sent is dropped */
        return CLOSE_ENDS;
    }
    if (seconds > 0) {
        enum wait wait = wait_for_room(c, fd, seconds);
        if (wait != WAIT_OVER)
            return wait == WAIT_GONE ? CLOSE_LINGERS : CLOSE_UNLOCKED;
        if (buffer_length(c) == 0)
            return CLOSE_ENDS;
        kernel->end_linger(fd);
    }
    int own = kernel->dup_above(fd, CLOSE_LOWEST);
    if (own < 0)
        own = kernel->dup_above(fd, 0);
    if (own < 0 || !fds_set(own, (uintptr_t)c)) {
        if (own >= 0)
            kernel->close(own);
        return hold_push_all(c, PUSH_CLOSE) ? CLOSE_ENDS : CLOSE_UNLOCKED;
    }
    fds_set(fd, FDS_UNKNOWN);
    c->fd = own;
    STORE(&c->lingering, true);
    if (c->draining)
        buffer_wake_writers(); /* they go on with descriptors of their own */
    window_watch(c);
    return CLOSE_LINGERS;
}

void close_ends(struct conn *c, int fd) {
    stats_connection_ends(c, fd);
    fds_release(c);
}

void close_linger_ends(struct conn *c) {
    int fd = c->fd;
    fds_unlink(c, fd);
    STORE(&c->lingering, false);
    if (c->refs > 0) /* a handler has closed one number while the other was made */
        conn_unlock(c);
    else
        close_ends(c, fd);
    kernel->close(fd);
}
