/* SPDX-License-Identifier: MIT
 *
 * A network and a kernel made of memory, for fuzzing the core without either: sockets with a send buffer,
 * TCP_NODELAY, TCP_CORK and MSG_MORE; descriptors that lead to them; errors on demand.
 *
 * Every byte of a stream follows from its position, so a send with bytes out of place is seen at once.
 */
#ifndef UNSTALL_FUZZ_NET_H
#define UNSTALL_FUZZ_NET_H

#include <sys/socket.h>
#include <sys/types.h>

#include "kernel.h"

enum { SOCKETS = 4, DESCRIPTORS = 512, FILE_FD = 40, PIPE_FD = 41, UNIX_FD = 42 };

struct net_socket {
    uint64_t written;     /* bytes for which the application's writes returned success */
    uint64_t taken;       /* bytes that the kernel has */
    size_t withheld;      /* of these, the last ones: MSG_MORE or TCP_CORK keeps them */
    size_t room;          /* in the send buffer */
    unsigned descriptors; /* that lead here */
    uint64_t cookie;
    uint64_t received;    /* the peer's bytes */
    int dead;             /* 0, or the errno of the next call; then EPIPE */
    bool told;            /* some call has been told that it is dead */
    bool sndbuf_maybe_full;         /* a send met a full buffer: buffered bytes may wait for the window */
    bool nodelay, cork;
    bool app_nodelay;     /* the application's value */
    bool app_more;        /* its last write had MSG_MORE */
    bool non_blocking;
    bool cloexec;
};

struct net {
    struct net_socket sockets[SOCKETS];
    struct net_socket *leads[DESCRIPTORS];
    int passing;         /* errno of the next send of the shim's own: EINTR, ENOBUFS */
    bool excused;        /* ... which has been met: buffered bytes may wait for the window */
    bool refused;        /* a send made within this call met a full buffer */
    bool no_descriptors; /* F_DUPFD fails */
    void (*meanwhile)(void); /* once, inside the next send: a signal handler */
};

extern struct net net;

/* Everything anew, and the core's pointers led here. */
void net_start(void);

void net_open(int index, int fd);
void net_dup(int fd, int copy);
void net_close(int fd);
struct net_socket *net_of(int fd);

/* The peer reads all there is. */
void net_peer_reads(void);

/* A send that passes by the core. */
ssize_t net_send(int fd, const void *buffer, size_t bytes, int flags);

/* The next `bytes` bytes that the application writes. */
void net_fill(const struct net_socket *s, uint64_t position, char *to, size_t bytes);

#endif
