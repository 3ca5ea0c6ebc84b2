/* SPDX-License-Identifier: MIT
 *
 * All of the library's own socket options, queries and sends.  Each call returns 0 or a count, or -errno
 * (raw.h).  The calls go through pointers, so that a unit test can replace the kernel.
 */
#ifndef UNSTALL_KERNEL_H
#define UNSTALL_KERNEL_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base.h"

struct kernel_tcp_info {
    uint64_t bytes_sent;     /* payload sent, without retransmissions; 0 if unknown */
    uint64_t bytes_queued;   /* payload not sent yet */
    uint64_t bytes_received; /* payload received, read or not */
    uint32_t segments_out;   /* data segments sent */
    /* for the proof of stalls (stalls.h) */
    uint32_t unacked;          /* segments in flight */
    uint64_t bytes_acked;      /* on the connecting side the SYN counts as one byte */
    uint64_t pacing_rate;      /* bytes a second; 0: none */
    uint32_t cwnd;             /* segments */
    uint32_t window;           /* the peer's, in bytes; UINT32_MAX: this kernel does not tell */
    uint32_t mss;              /* of the sending side */
    uint32_t rtt_least_us;     /* the shortest round trip seen; 0: none yet */
    uint32_t last_sent_ms;     /* since the last data segment was sent, to a jiffy */
    uint32_t last_received_ms; /* since the last data segment was received */
    uint32_t retransmissions;  /* segments sent again, in total */
    bool ended;                /* in both directions, or by a reset: what is queued never leaves */
};

/* What the calling thread has used since its start. */
struct kernel_usage {
    uint64_t cpu_ns;
    uint64_t waits; /* voluntary context switches: it slept, or waited for a page or a lock of the kernel */
    uint64_t lost;  /* involuntary ones: the scheduler gave its processor to others; also by sched_yield(2) */
};

struct kernel_ops {
    int (*set_option)(int fd, int level, int name, int value);
    int (*get_option)(int fd, int level, int name, int *value);
    int (*cookie)(int fd, uint64_t *cookie);
    int (*tcp_info)(int fd, struct kernel_tcp_info *out);
    ssize_t (*send)(int fd, const struct msghdr *message, int flags);
    int (*descriptor_flags)(int fd); /* F_GETFD */
    int (*status_flags)(int fd);     /* F_GETFL */
    int (*is_file)(int fd);          /* 1: a regular file or directory; I/O on it never blocks */
    int (*name)(int fd, bool peer, struct sockaddr_storage *address);
    int (*writable)(int fd, int timeout_ms); /* 1: room in the send buffer (POLLOUT) */
    bool (*has_input)(int fd);               /* bytes can be read, in front of an error */
    int (*usage)(struct kernel_usage *out);
    int (*dup_above)(int fd, int lowest);    /* F_DUPFD_CLOEXEC */
    int (*close)(int fd);
    int (*linger)(int fd); /* SO_LINGER: its seconds; -1: off */
    int (*end_linger)(int fd);
    int (*shut_writing)(int fd); /* SHUT_WR */
};

/* False: a seccomp filter refuses a call by which held bytes leave.  A program that itself makes other
 * calls may have inherited one. */
bool kernel_allows_holds(void);

extern INTERNAL const struct kernel_ops kernel_real;
extern INTERNAL const struct kernel_ops *kernel;

#endif
