/* SPDX-License-Identifier: MIT
 *
 * Mode proof: TCP_NODELAY once a stall was proved, and Nagle's algorithm again for a one-way stream.
 * Included by attach.bpf.c.
 */
#ifndef UNSTALL_PROOF_BPF_H
#define UNSTALL_PROOF_BPF_H

enum {
    LATE_US = LATE_AT_HOOK_MS * 1000,
    STREAM = 8, /* so many small segments without any input are a stream, as in the library */
};

/* True if Nagle's algorithm holds back less than a segment, and the acknowledgement that ends the hold was
 * late. */
static __always_inline int is_stall(struct bpf_sock_ops *ops, struct bpf_sock *sk) {
    struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
    if (!tp)
        return 0;
    __u32 unsent = tp->write_seq - tp->snd_nxt;
    return unsent > 0 && unsent < tp->mss_cache && BPF_CORE_READ_BITFIELD(tp, nonagle) == 0 &&
           BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) <= CA_DISORDER;
}

/* True if it has sent STREAM segments or more since input was last seen. */
static __always_inline int is_one_way(struct bpf_sock_ops *ops, struct attach_socket *s) {
    __u32 received = ops->bytes_received;
    if (received != s->received || !s->segments) {
        s->received = received;
        s->segments = ops->data_segs_out;
        s->acked = ops->bytes_acked;
    }
    return ops->data_segs_out - s->segments >= STREAM;
}

/* A one-way stream gets Nagle's algorithm back, which joins its small writes; but only once, because a
 * connection that stalls again has long messages. */
static __always_inline void on_cured(struct bpf_sock_ops *ops, struct attach_socket *s,
                                     struct bpf_sock *sk) {
    int zero = 0;
    struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
    if (s->own || !tp || !is_one_way(ops, s))
        return;
    __u32 acked = (__u32)ops->bytes_acked - s->acked, sent = ops->data_segs_out - s->segments;
    if (acked / sent >= tp->mss_cache / 2)
        return;
    if (bpf_setsockopt(ops, TCP, NODELAY, &zero, sizeof(zero)) == 0) {
        s->cured = 0;
        s->returned = 1;
    }
}

static __always_inline int on_round_trip(struct bpf_sock_ops *ops, struct bpf_sock *sk) {
    int late = ops->args[0] >= LATE_US + ops->rtt_min;
    struct attach_socket *s = bpf_sk_storage_get(&sockets, sk, 0, 0);
    struct attach_config *c = configuration();
    if (!s || !c || (!late && !s->cured))
        return 1;
    if (s->cured) {
        on_cured(ops, s, sk);
    } else if (!is_one_way(ops, s) && is_stall(ops, sk)) {
        __sync_fetch_and_add(&c->stalls, 1);
        cure(ops, s, c);
        if (s->cured && s->returned)
            arm(ops, s, 0);
    }
    return 1;
}

#endif
