/* SPDX-License-Identifier: MIT
 *
 * Sockets of MPTCP, of one process.  The process has a descriptor of the socket of MPTCP; the kernel makes
 * the TCP connections below it, without the process and without `on_create`.  So the record of the former
 * says `member`, and the latter get theirs when they listen or are connected; those that exist are noted by
 * `mark`, and the connections that a listener accepts inherit its record.
 * Included by attach.bpf.c.
 */
#ifndef UNSTALL_MPTCP_BPF_H
#define UNSTALL_MPTCP_BPF_H

enum { MPTCP = 262 };

/* A kernel without MPTCP does not know the helper's type, and would refuse the program: there the loader
 * leaves this out. */
static __always_inline int is_of_member(struct bpf_sock *sk) {
    if (!bpf_core_type_exists(struct mptcp_sock))
        return 0;
    struct mptcp_sock *above = bpf_skc_to_mptcp_sock(sk);
    struct attach_socket *s = above ? bpf_sk_storage_get(&sockets, above, 0, 0) : 0;
    return s && s->member;
}

/* The record of a TCP socket below one of the process; 0: it is none. */
static __always_inline struct attach_socket *adopt(struct bpf_sock *sk) {
    struct attach_socket *s =
        is_of_member(sk) ? bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE) : 0;
    if (s)
        s->member = 1;
    return s;
}

/* The first TCP socket below this one: others are only there if several paths are in use. */
static __always_inline void note_below(const struct sock *sk) {
    if (!bpf_core_type_exists(struct mptcp_sock))
        return;
    const struct sock *first = BPF_CORE_READ((const struct mptcp_sock *)sk, first);
    note(first);
    if (first && sk->__sk_common.skc_state == LISTEN)
        note_queue(first);
}

/* A listener below a socket of the process: what it accepts inherits its record. */
static __always_inline void take_listener(struct sock_common *skc) {
    struct tcp_sock *tp = skc->skc_state == LISTEN ? bpf_skc_to_tcp_sock(skc) : 0;
    struct attach_socket *s =
        tp && is_noted(tp) ? bpf_sk_storage_get(&sockets, tp, 0, BPF_SK_STORAGE_GET_F_CREATE) : 0;
    if (s)
        s->member = 1;
}

#endif
