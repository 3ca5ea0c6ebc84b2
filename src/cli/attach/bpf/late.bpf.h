/* SPDX-License-Identifier: MIT
 *
 * Mode late: TCP_NODELAY before a second small segment would wait.  Included by attach.bpf.c.
 */
#ifndef UNSTALL_LATE_BPF_H
#define UNSTALL_LATE_BPF_H

/* It knows a connection after LOOKS looks at its record, one in LOOK segments: some 64 sends. */
enum { LOOKS = 8, LOOK = 8 };

/* Before the bytes of a sendmsg are queued.  True if nothing is unsent and a small segment is in flight:
 * Nagle's algorithm would hold a second one. */
static __always_inline int would_wait(const struct tcp_sock *tp) {
    return tp->write_seq == tp->snd_nxt && tp->packets_out > 0 &&
           (__s32)(tp->snd_sml - tp->snd_una) > 0 && (__s32)(tp->snd_sml - tp->snd_nxt) <= 0 &&
           BPF_CORE_READ_BITFIELD(tp, nonagle) == 0;
}

/* Mode late.  A timer that sends again makes this callback too.  The first send that would wait is cured.
 * After it, or once the connection is known, the connection is treated as in mode proof.  Most sends end
 * before a look-up. */
static __always_inline int on_send(struct bpf_sock_ops *ops, struct bpf_sock *sk) {
    if (ops->args[0] != BPF_WRITE_HDR_TCP_CURRENT_MSS)
        return 1;
    struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
    if (!tp || !((struct sock *)tp)->sk_lock.owned)
        return 1;
    int waits = would_wait(tp);
    if (!waits && tp->data_segs_out % LOOK)
        return 1;
    struct attach_socket *s = bpf_sk_storage_get(&sockets, sk, 0, 0);
    struct attach_config *c = configuration();
    if (!s || !c || !(s->armed & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG))
        return 1;
    if (waits) {
        cure(ops, s, c);
        if (!s->cured)
            __sync_fetch_and_add(&c->refused, 1);
    } else if (++s->sends < LOOKS) {
        return 1;
    }
    arm(ops, s, BPF_SOCK_OPS_RTT_CB_FLAG);
    return 1;
}

#endif
