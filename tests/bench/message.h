/* SPDX-License-Identifier: MIT
 *
 * The ways of sending a message that comes in pieces: each remedy that its author could have written, and the
 * plain writes of a program without one.
 */
#ifndef BENCH_MESSAGE_H
#define BENCH_MESSAGE_H

#include "common.h"

enum way { WAY_PIECES, WAY_ONE, WAY_NODELAY, WAY_CORK, WAY_MORE };

static inline enum way way_called(const char *name) {
    static const char *const names[] = {"pieces", "one", "nodelay", "cork", "more"};
    for (int i = 0; i < 5; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum way)i;
    fprintf(stderr, "no way %s\n", name);
    exit(2);
}

/* False: the other end has gone. */
static inline bool send_all(int fd, const char *bytes, size_t count, int flags) {
    while (count) {
        ssize_t sent = flags ? send(fd, bytes, count, flags) : write(fd, bytes, count);
        if (sent < 0)
            return false;
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

/* `count` pieces, one behind the other in `bytes`, each in a call of its own. */
static inline bool send_pieces(int fd, const char *bytes, const unsigned *pieces, int count,
                               bool more) {
    bool sent = true;
    for (int i = 0; sent && i < count; bytes += pieces[i++])
        sent = send_all(fd, bytes, pieces[i], more && i + 1 < count ? MSG_MORE : 0);
    return sent;
}

static inline bool send_message(int fd, enum way way, const char *bytes, const unsigned *pieces,
                                int count) {
    unsigned all = 0;
    bool sent;
    switch (way) {
    case WAY_ONE:
        for (int i = 0; i < count; i++)
            all += pieces[i];
        return send_all(fd, bytes, all, 0);
    case WAY_CORK:
        set_option(fd, TCP_CORK, 1);
        sent = send_pieces(fd, bytes, pieces, count, false);
        set_option(fd, TCP_CORK, 0);
        return sent;
    case WAY_MORE: return send_pieces(fd, bytes, pieces, count, true);
    case WAY_PIECES:
    case WAY_NODELAY: /* set when the connection was made */ break;
    }
    return send_pieces(fd, bytes, pieces, count, false);
}

#endif
