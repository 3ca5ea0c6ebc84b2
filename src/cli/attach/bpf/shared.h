/* SPDX-License-Identifier: MIT
 *
 * The data that the BPF programs of an attachment share with the command.
 *
 * The structures are in pinned maps, which a later version of the command may find: a change of
 * their members changes ATTACH_VERSION.
 */
#ifndef UNSTALL_ATTACH_SHARED_H
#define UNSTALL_ATTACH_SHARED_H

#include <linux/types.h>

#include "stats_format.h"

enum { ATTACH_VERSION = 9, ATTACH_TARGET = 128, ATTACH_CGROUP = 1024, ATTACH_CONNECTIONS = 65536 };
enum { ATTACH_ALWAYS, ATTACH_PROOF };

/* The request of `unstall ab --live`, and the number of connections that have got an arm. */
struct attach_experiment {
    __u64 seed;
    __u64 connections, existed; /* of them, older than the attachment */
    __u64 missed;               /* of them, without room for a record, and so without an arm */
    __u32 arms;                 /* 0: it is no experiment */
    __u32 assignment;           /* enum stats_assignment */
    __u32 nodelay;              /* a bit for each arm: it sets TCP_NODELAY */
    __u32 weight[STATS_ARMS];
    __u32 unused;
};

/* The only entry of the map `config`. */
struct attach_config {
    __u32 version, mode;
    __u32 by_process; /* only sockets of one process count */
    __u32 process;    /* that process, in the kernel's own numbers; 0: not found yet */
    __u64 start_ns;   /* when it was started: a later process may have its number */
    __u64 cgroup;     /* the id of the target's cgroup */
    __u32 whole_host; /* the target is the root cgroup */
    __u32 port;       /* on one side of the connection; 0: any */
    __u64 began_ns;   /* CLOCK_REALTIME */
    __u64 pid_start;
    __s32 pid;    /* the process in the numbers of the loader */
    __s32 loader; /* the command in the foreground; 0: detached */
    __u64 loader_start;
    __u64 quickack;   /* also on the receiving side */
    __u64 quick;      /* sockets whose acknowledgements we have hastened */
    __u64 cured, stalls; /* sockets with TCP_NODELAY by us, of them after a proved stall */
    struct attach_experiment experiment;
    char target[ATTACH_TARGET];
    char path[ATTACH_CGROUP]; /* of the cgroup, as a folder */
};

/* The record of a socket. */
struct attach_socket {
    __u8 member;    /* made by the process, or accepted from a listener of it */
    __u8 cured;     /* TCP_NODELAY is 1 by us */
    __u8 own;       /* the program's value, which it reads back while `cured` */
    __u8 armed;     /* the callbacks that we have asked for */
    __u8 returned;  /* Nagle's algorithm was given back to a stream */
    __u32 quick_us; /* the delay of acknowledgements by us; 0: it is the program's own */
    __u32 delay_us; /* that own delay */
    __u32 received; /* bytes, when input was last seen */
    __u32 segments; /* sent until then */
    __u32 acked;    /* bytes of them */
    __u64 number;   /* of its record; 0: it takes no part in an experiment */
};

/* Of a connection in an experiment.  Times are ns of CLOCK_MONOTONIC. */
struct attach_connection {
    __u64 opened_ns; /* taken in; it is written last: 0 is a record in the making */
    __u64 ended_ns;  /* 0: it lives */
    __u64 changed_ns;
    __u64 began_ns; /* the first write of the open message; 0: there is none */
    __u64 held_ns;  /* Nagle's algorithm holds data back since then; 0: it does not */
    __u64 messages, exchanges, exchange_ns, stalls;
    __u64 segments; /* of data, known at its end */
    struct stats_address peer, local;
    __u32 sent;      /* write_seq after the write that returned last */
    __u32 answered;  /* write_seq when input came last */
    __u32 held_next; /* snd_nxt when data was held */
    __u32 segments_before;
    __u32 exchange[COARSE_BUCKETS];
    __u8 arm, role; /* enum stats_role */
    __u8 unused[6];
};

/* If the connecting side is not known, the lower port counts as the server's, as for the library. */
static inline const struct stats_address *attach_listener_of(const struct attach_connection *c) {
    int local =
        c->role == ROLE_LISTENER || (c->role == ROLE_UNKNOWN && c->local.port < c->peer.port);
    return local ? &c->local : &c->peer;
}

/* The sums of an arm. */
struct attach_arm {
    __u64 connections, ended, messages, exchanges, exchange_ns, stalls;
    __u64 segments; /* of connections that have ended */
    __u64 exchange[HISTOGRAM_BUCKETS];
};

#endif
