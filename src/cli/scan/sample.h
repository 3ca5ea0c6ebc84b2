/* SPDX-License-Identifier: MIT
 *
 * One look at one TCP socket, as inet_diag shows it (sock_diag(7)): the part of struct
 * tcp_info that tells whether Nagle's algorithm holds data back.
 */
#ifndef UNSTALL_SCAN_SAMPLE_H
#define UNSTALL_SCAN_SAMPLE_H

#include "stats_format.h"

/* Names one socket of one network namespace for its whole life. */
struct scan_key {
    uint8_t family; /* of the socket; an AF_INET6 one may have addresses of IPv4 */
    struct stats_address local, peer;
    uint32_t interface;
    uint32_t cookie[2];
};

/* True if a connection with these ends has this port; 0: any. */
static inline bool scan_has_port(const struct stats_address *local, const struct stats_address *peer,
                                 uint16_t port) {
    return port == 0 || local->port == port || peer->port == port;
}

struct scan_sample {
    uint64_t at_ns; /* CLOCK_MONOTONIC */
    uint64_t inode; /* 0: no process has it any more */
    uint32_t uid;
    uint32_t queued;  /* bytes written and not acknowledged, the unsent ones included */
    uint32_t unsent;  /* bytes of them that were never sent */
    uint32_t unacked; /* segments in flight */
    uint32_t mss, cwnd;
    uint32_t window;        /* the peer's; UINT32_MAX: not told (Linux before 5.4) */
    uint32_t since_sent_ms; /* since data was sent last, in steps of the kernel's tick */
    uint32_t min_rtt_us;
    uint64_t pacing;                         /* bytes a second; UINT64_MAX: not limited */
    uint64_t acked;                          /* bytes in all */
    uint64_t received;                       /* bytes in all */
    uint32_t segments_in, data_in, data_out; /* segments in all */
    bool recovers;                           /* congestion control is not in its open state */
};

#endif
