/* SPDX-License-Identifier: MIT
 *
 * Is data of a socket held back by Nagle's algorithm?  The arriving segment shows it.  Of scan and attach,
 * behind kernel_types.h.
 */
#ifndef UNSTALL_HELD_BPF_H
#define UNSTALL_HELD_BPF_H

#include "late.h"

enum {
    INET = 2,
    INET6 = 10,
    TCP = 6, /* the protocol, and the level of its options */
    CA_DISORDER = 1,    /* the states beyond it repair a loss */
    LATE_NS = LATE_AT_HOOK_MS * 1000000,
    PACED_MS = 5,       /* a socket whose pacing needs this long waits for its pacing */
    TCP_HEADER = 20,
};

static __always_inline int is_after(__u32 a, __u32 b) {
    return (__s32)(a - b) > 0;
}

static __always_inline int is_tcp(const struct sock *sk) {
    return sk->sk_protocol == TCP &&
           (sk->__sk_common.skc_family == INET || sk->__sk_common.skc_family == INET6);
}

/* Nagle's algorithm as the kernel has it (tcp_nagle_check, with Minshall's change): less than a
 * segment waits for a small one in flight.  Anything else that may hold it back makes it no hold. */
static __always_inline int is_held(const struct sock *sk, const struct tcp_sock *tp) {
    __u32 unsent = tp->write_seq - tp->snd_nxt, queued = tp->write_seq - tp->snd_una;
    if (unsent == 0 || unsent >= tp->mss_cache || tp->packets_out == 0)
        return 0;
    if (BPF_CORE_READ_BITFIELD(tp, nonagle) != 0)
        return 0;
    if (!is_after(tp->snd_sml, tp->snd_una) || is_after(tp->snd_sml, tp->snd_nxt))
        return 0;
    if (queued > tp->snd_wnd || tp->packets_out >= tp->snd_cwnd)
        return 0;
    if (BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) > CA_DISORDER)
        return 0;
    return sk->sk_pacing_rate / 1000 * PACED_MS >= queued;
}

struct tcp_segment {
    __u32 sequence, acknowledged;
    __u32 bytes; /* of data */
};

static __always_inline __u32 number_at(const __u8 *bytes) {
    return (__u32)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

/* 0 if it can be read. */
static __always_inline int read_segment(const struct sk_buff *skb, struct tcp_segment *s) {
    __u8 header[TCP_HEADER];
    if (bpf_probe_read_kernel(header, sizeof(header), skb->head + skb->transport_header))
        return -1;
    __u32 begin = (header[12] >> 4) * 4;
    s->sequence = number_at(&header[4]);
    s->acknowledged = number_at(&header[8]);
    s->bytes = skb->len > begin ? skb->len - begin : 0;
    return 0;
}

#endif
