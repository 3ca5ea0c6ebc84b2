/* SPDX-License-Identifier: MIT
 *
 * The records that stall.bpf.c writes in the kernel and exact.c reads.
 */
#ifndef UNSTALL_SCAN_SHARED_H
#define UNSTALL_SCAN_SHARED_H

#include <linux/types.h>

#include "stats_format.h"

enum {
    TOTALS_MOST = 65536,
    NAME_SIZE = 16,
    CALL_STACK = 24576,   /* bytes of stack kept for one call; the frames of a write in Node take 16 KiB */
    CALL_REGISTERS = 272, /* bytes: enough for the struct pt_regs of x86-64 and aarch64 */
    CALLS_RING = 1 << 22,
};

/* A record in the ring is a call, or the cookie alone: the last call of this connection has stalled. */

/* A send of a connection that stalls: the thread's registers and stack as they were in it. */
struct scan_call {
    __u64 cookie, when_ns;
    __u32 process, thread;
    __u32 bytes;
    __u32 held;        /* it is held back, and the send before it was kept, too */
    __u32 stack_bytes; /* of `stack`, from the stack pointer upwards */
    __u32 read;        /* the number of the next byte that the program will read */
    __u8 registers[CALL_REGISTERS]; /* struct pt_regs */
    __u8 stack[CALL_STACK];
};

/* The totals of one connection; the key is its cookie. */
struct scan_total {
    __u64 stalls, lost_ns;
    __u64 answered; /* stalls after which the peer sent data */
    __u64 inode;
    __u32 process, user;
    char name[NAME_SIZE]; /* of the thread */
    __u32 family;         /* of the socket */
    __u32 interface;
    __u32 network; /* the inode of its network namespace; 0: not known */
    struct stats_address local, peer;
};

#endif
