/* SPDX-License-Identifier: MIT
 *
 * What stall.bpf.c counts in the kernel, and exact.c reads.  Included by both.
 */
#ifndef UNSTALL_SCAN_SHARED_H
#define UNSTALL_SCAN_SHARED_H

#include <linux/types.h>

enum { TOTALS_MOST = 65536, NAME_SIZE = 16 };

/* Of one connection, by its cookie. */
struct scan_total {
    __u64 stalls, lost_ns;
    __u64 answered; /* stalls after which the peer sent data */
    __u64 inode, cgroup;
    __u32 process, thread, user;
    char name[NAME_SIZE];                /* of the thread */
    __u16 family, local_port, peer_port; /* host byte order */
    __u32 interface;
    __u8 local[16], peer[16]; /* 4 bytes of them for AF_INET */
};

#endif
