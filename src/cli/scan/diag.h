/* SPDX-License-Identifier: MIT
 *
 * The only door to sock_diag(7): all TCP sockets of this network namespace, or single ones by
 * their id.  Needs no privilege; changes nothing.  A struct scan_diag belongs to one thread.
 * Functions return -errno.
 */
#ifndef UNSTALL_SCAN_DIAG_H
#define UNSTALL_SCAN_DIAG_H

#include <sys/types.h>

#include "sample.h"

struct scan_diag;

/* For the network namespace of process `namespace_of`; 0: the caller's own.  -EPERM: it is another
 * namespace than ours, and entering it needs CAP_SYS_ADMIN. */
int scan_diag_open(struct scan_diag **d, pid_t namespace_of);
void scan_diag_close(struct scan_diag *d);

/* One socket in a dump. */
struct scan_listed {
    struct scan_key key;
    bool in_flight;            /* the retransmission timer runs */
    struct scan_sample sample; /* whole only of SCAN_COUNTED; of others inode, user and `queued` */
};

/* SCAN_COUNTED: the established ones with their whole samples, which takes longer. */
enum scan_which { SCAN_ESTABLISHED, SCAN_COUNTED, SCAN_LISTENING };

typedef void scan_listed_fn(const struct scan_listed *l, void *arg);

/* Calls `each` for every socket.  Their number, or -errno: -ENOENT if the kernel has no tcp_diag. */
int scan_diag_dump(struct scan_diag *d, enum scan_which which, scan_listed_fn *each, void *arg);

enum { SCAN_QUERIES = 64 };

/* Samples these sockets, at most SCAN_QUERIES.  found[i]: the socket still exists.  0 or -errno:
 * -EOPNOTSUPP if tcp_info lacks members (before Linux 4.6). */
int scan_diag_query(struct scan_diag *d, const struct scan_key *const keys[], size_t count,
                    struct scan_sample samples[], bool found[]);

/* The ports with a listening socket.  They show which end of a connection is the service.  A port
 * stays in the list when its service ends, because the report still has its connections. */
struct scan_listeners {
    uint8_t port[UINT16_MAX + 1]; /* 1: it has one */
};

/* Adds the ports that have a listening socket now.  0 or -errno. */
int scan_listeners_look(struct scan_listeners *l, struct scan_diag *d);

/* The inode of the other end of a connection within this host; 0: it has none. */
uint64_t scan_diag_peer(struct scan_diag *d, const struct scan_key *key);

#endif
