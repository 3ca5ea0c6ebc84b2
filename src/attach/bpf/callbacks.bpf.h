/* SPDX-License-Identifier: MIT
 *
 * The callbacks that a connection asks for, in the modes proof and late.  Included by attach.bpf.c.
 */
#ifndef UNSTALL_CALLBACKS_BPF_H
#define UNSTALL_CALLBACKS_BPF_H

/* The callback for a new connection: each send in mode late, each round trip in mode proof. */
static __always_inline __u8 first_callback(const struct attach_config *c) {
    return c->mode == ATTACH_LATE ? BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG : BPF_SOCK_OPS_RTT_CB_FLAG;
}

/* Asks for this callback and for no other of ours; 0: for none. */
static __always_inline void arm(struct bpf_sock_ops *ops, struct attach_socket *s, __u8 wanted) {
    __u32 others = ops->bpf_sock_ops_cb_flags & ~(__u32)s->armed;
    wanted &= ~others; /* another program has asked for these, and ends them itself */
    if (bpf_sock_ops_cb_flags_set(ops, others | wanted) == 0)
        s->armed = wanted;
}

#endif
