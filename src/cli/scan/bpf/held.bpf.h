/* SPDX-License-Identifier: MIT
 *
 * Is data of a socket held back by Nagle's algorithm?  The arriving segment shows it.  Of scan and attach,
 * behind kernel_types.h.
 */
#ifndef UNSTALL_HELD_BPF_H
#define UNSTALL_HELD_BPF_H

#include "late.h"
#include "stats_format.h"

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

/* ---- its ends ------------------------------------------------------------------ */

/* An address of version 4 in one of version 6 counts as the former, as for the library. */
static __always_inline void describe_end(struct stats_address *a, const struct in6_addr *six) {
    __u32 words[4];
    bpf_probe_read_kernel(words, sizeof(words), six);
    if (words[0] == 0 && words[1] == 0 && words[2] == bpf_htonl(0xffff)) {
        a->family = INET;
        __builtin_memcpy(a->address, &words[3], 4);
    } else {
        a->family = INET6;
        __builtin_memcpy(a->address, words, 16);
    }
}

static __always_inline void describe_ends(struct stats_address *local, struct stats_address *peer,
                                          const struct sock_common *c) {
    if (BPF_CORE_READ(c, skc_family) == INET) {
        local->family = peer->family = INET;
        bpf_core_read(local->address, 4, &c->skc_rcv_saddr);
        bpf_core_read(peer->address, 4, &c->skc_daddr);
    } else {
        describe_end(local, &c->skc_v6_rcv_saddr);
        describe_end(peer, &c->skc_v6_daddr);
    }
    local->port = BPF_CORE_READ(c, skc_num);
    peer->port = bpf_ntohs(BPF_CORE_READ(c, skc_dport));
}

/* ---- what arrives -------------------------------------------------------------- */

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

enum hold_end { HOLD_GOES_ON, HOLD_ENDS, STALL_ENDS };

/* What an arriving segment does to data that is held for `held_ns`, since snd_nxt was `next`: a stall ends by
 * a bare acknowledgement that is later than a round trip. */
static __always_inline enum hold_end end_of_hold(const struct tcp_sock *tp, const struct tcp_segment *got,
                                                 __u32 next, __u64 held_ns) {
    if (tp->snd_nxt != next)
        return HOLD_ENDS; /* sent already: the segment filled up, or an option was set */
    if (is_after(tp->snd_sml, got->acknowledged))
        return HOLD_GOES_ON; /* the small segment is still in flight */
    return !got->bytes && BPF_CORE_READ_BITFIELD(tp, nonagle) == 0 &&
                   held_ns >= LATE_NS + (__u64)tp->rtt_min.s[0].v * 1000
               ? STALL_ENDS
               : HOLD_ENDS;
}

#endif
