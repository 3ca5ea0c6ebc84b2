/* SPDX-License-Identifier: MIT
 *
 * The only door to socket options and queries of our own.  Each call returns 0
 * or a count, or -errno; none is a cancellation point and none touches errno.
 * The calls sit behind pointers so that a unit test can replace the kernel.
 */
#ifndef UNSTALL_KERNEL_H
#define UNSTALL_KERNEL_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base.h"

struct kernel_tcp_info {
    uint64_t bytes_sent;     /* payload that left, retransmissions not counted; 0 if unknown */
    uint64_t bytes_queued;   /* payload still unsent */
    uint64_t bytes_received; /* payload that came in, read or not */
    uint32_t segments_out;   /* data segments that left */
    /* for the proof of stalls (proof.h) */
    uint32_t unacked;          /* segments in flight */
    uint64_t bytes_acked;      /* the SYN of the side that connected among them */
    uint64_t pacing_rate;      /* bytes a second; 0: none */
    uint32_t cwnd;             /* segments */
    uint32_t window;           /* the peer's, bytes; all ones: not told by this kernel */
    uint32_t mss;              /* of what is sent */
    uint32_t rtt_least_us;     /* the least round trip seen; 0: none yet */
    uint32_t last_sent_ms;     /* since the last data segment left, to a jiffy */
    uint32_t last_received_ms; /* since the last one came in */
    uint32_t retransmissions;  /* segments sent again, ever */
};

struct kernel_ops {
    int (*set_option)(int fd, int level, int name, int value);
    int (*get_option)(int fd, int level, int name, int *value);
    int (*cookie)(int fd, uint64_t *cookie);
    int (*segments)(int fd, struct kernel_tcp_info *out);
    ssize_t (*send)(int fd, const struct msghdr *message, int flags);
    int (*descriptor_flags)(int fd); /* F_GETFD */
    int (*status_flags)(int fd);     /* F_GETFL */
    int (*is_file)(int fd);          /* 1: a regular file or directory: never blocks */
    int (*name)(int fd, bool peer, struct sockaddr_storage *address);
    int (*writable)(int fd, int timeout_ms); /* 1: room in the send buffer (POLLOUT) */
    int (*dup_above)(int fd, int lowest);    /* F_DUPFD_CLOEXEC */
    int (*close)(int fd);
};

extern const struct kernel_ops kernel_real;
extern const struct kernel_ops *kernel;

#endif
