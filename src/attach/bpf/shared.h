/* SPDX-License-Identifier: MIT
 *
 * What the BPF programs of an attachment and the command tell each other.  Included by both.
 *
 * Both structures are in pinned maps, which a later version of the command may find: a change of
 * their members changes ATTACH_VERSION.
 */
#ifndef UNSTALL_ATTACH_SHARED_H
#define UNSTALL_ATTACH_SHARED_H

#include <linux/types.h>

enum { ATTACH_VERSION = 4, ATTACH_TARGET = 128, ATTACH_CGROUP = 256 };
enum { ATTACH_ALWAYS, ATTACH_PROOF, ATTACH_LATE };

/* The only entry of the map `config`. */
struct attach_config {
    __u32 version, mode;
    __u32 by_process; /* only sockets of one process count */
    __u32 process;    /* that process, in the kernel's own numbers; 0: not found yet */
    __u64 start_ns;   /* when it was started: a later process may have its number */
    __u64 cgroup;     /* the id of the target's cgroup */
    __u32 whole_host; /* it is the root of all */
    __u32 port;       /* on one side of the connection; 0: any */
    __u64 began_ns;   /* CLOCK_REALTIME */
    __u64 pid_start;
    __s32 pid;    /* the process in the numbers of the loader */
    __s32 loader; /* the command in the foreground; 0: detached */
    __u64 loader_start;
    __u64 own_cgroup; /* it was made for `unstall run`, and is removed at the end */
    __u64 quickack;   /* also on the receiving side */
    __u64 quick;      /* sockets whose acknowledgements we have hastened */
    __u64 refused; /* sockets on which the kernel refused mode late, which are cured as by proof */
    __u64 cured, stalls; /* sockets with TCP_NODELAY by us, of them after a proved stall */
    char target[ATTACH_TARGET];
    char path[ATTACH_CGROUP]; /* of the cgroup, as a folder */
};

/* Of a socket. */
struct attach_socket {
    __u8 member;    /* made by the process, or accepted from a listener of it */
    __u8 cured;     /* TCP_NODELAY is 1 by us */
    __u8 own;       /* the program's value, which it reads back while `cured` */
    __u8 armed;     /* the callbacks that we have asked for */
    __u8 sends;     /* seen by mode late */
    __u8 returned;  /* Nagle's algorithm was given back to a stream */
    __u32 quick_us; /* the delay of acknowledgements by us; 0: it is the program's own */
    __u32 delay_us; /* that own delay */
    __u32 received; /* bytes, when input was last seen */
    __u32 segments; /* sent until then */
    __u32 acked;    /* bytes of them */
};

#endif
