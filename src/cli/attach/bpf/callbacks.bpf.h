/* SPDX-License-Identifier: MIT
 *
 * The callbacks that we ask for on a connection.  Included by attach.bpf.c.
 *
 * Each connection that we take in asks for that of a change of its state.  When a connection ends, its socket
 * has its own values at once: no walk over the connections finds a socket without one, and the program may
 * keep it and connect it again.
 */
#ifndef UNSTALL_CALLBACKS_BPF_H
#define UNSTALL_CALLBACKS_BPF_H

enum { CALLBACK_FLAGS = 1008 }; /* TCP_BPF_SOCK_OPS_CB_FLAGS, Linux 6.12 */

/* The callback for a new connection: each round trip in mode proof. */
static __always_inline __u8 first_callback(const struct attach_config *c) {
    return c->mode == ATTACH_ALWAYS ? 0 : BPF_SOCK_OPS_RTT_CB_FLAG;
}

/* Asks for these callbacks and for no other of ours. */
static __always_inline void ask(struct bpf_sock_ops *ops, struct attach_socket *s, __u8 wanted) {
    __u32 others = ops->bpf_sock_ops_cb_flags & ~(__u32)s->armed;
    wanted &= ~others; /* another program has asked for these, and ends them itself */
    if (bpf_sock_ops_cb_flags_set(ops, others | wanted) == 0)
        s->armed = wanted;
}

/* Asks for this callback and that of a change of state; 0: for the latter alone. */
static __always_inline void arm(struct bpf_sock_ops *ops, struct attach_socket *s, __u8 wanted) {
    ask(ops, s, wanted | BPF_SOCK_OPS_STATE_CB_FLAG);
}

/* The same for a connection that exists.  -1: before Linux 6.12 it gets no callback. */
static __always_inline int arm_existing(struct tcp_sock *tp, struct attach_socket *s, __u8 wanted) {
    int flags = 0;
    if (bpf_getsockopt(tp, TCP, CALLBACK_FLAGS, &flags, sizeof(flags)) != 0)
        return -1;
    __u32 others = (__u32)flags & ~(__u32)s->armed;
    wanted = (wanted | BPF_SOCK_OPS_STATE_CB_FLAG) & ~others;
    flags = others | wanted;
    if (bpf_setsockopt(tp, TCP, CALLBACK_FLAGS, &flags, sizeof(flags)) != 0)
        return -1;
    s->armed = wanted;
    return 0;
}

/* The program may connect the socket again, which is another connection. */
static __always_inline int on_state(struct bpf_sock_ops *ops, struct bpf_sock *sk) {
    if (ops->args[1] != BPF_TCP_CLOSE)
        return 1;
    struct attach_socket *s = give_all_back(ops, sk);
    if (!s)
        return 1;
    s->returned = 0;
    s->segments = 0;
    ask(ops, s, 0);
    return 1;
}

#endif
