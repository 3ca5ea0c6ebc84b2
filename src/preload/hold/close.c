/* SPDX-License-Identifier: MIT */
#include "close.h"

#include "fds.h"
#include "hold.h"
#include "kernel.h"
#include "stats.h"
#include "ticker.h"

enum { LINGER_LOWEST = 256 };

bool close_lingers(struct conn *c, int fd) {
    int own = kernel->dup_above(fd, LINGER_LOWEST);
    if (own < 0)
        own = kernel->dup_above(fd, 0);
    if (own < 0 || !fds_set(own, (uintptr_t)c)) {
        if (own >= 0)
            kernel->close(own);
        hold_push_all(c, PUSH_CLOSE);
        return false;
    }
    fds_set(fd, FDS_UNKNOWN);
    c->fd = own;
    STORE(&c->lingering, true);
    ticker_watch(c);
    return true;
}

void close_ends(struct conn *c, int fd) {
    stats_connection_ends(c, fd);
    fds_release(c);
}

void close_linger_ends(struct conn *c) {
    int fd = c->fd;
    fds_leave(c, fd);
    close_ends(c, fd);
    kernel->close(fd);
}
