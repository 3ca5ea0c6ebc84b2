/* SPDX-License-Identifier: MIT
 *
 * The members of kernel structures that stall.bpf.c reads.  libbpf fills in their offsets when it
 * loads the program (CO-RE), so order, size and missing members do not matter here.
 */
#ifndef UNSTALL_SCAN_KERNEL_TYPES_H
#define UNSTALL_SCAN_KERNEL_TYPES_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
    __u8 bytes[16];
};

struct ns_common {
    unsigned int inum;
};

struct net {
    struct ns_common ns;
};

typedef struct {
    struct net *net;
} possible_net_t;

struct sock_common {
    unsigned short skc_family;
    __be32 skc_daddr, skc_rcv_saddr;
    __be16 skc_dport;
    __u16 skc_num;
    int skc_bound_dev_if;
    possible_net_t skc_net;
    struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct inode {
    unsigned long i_ino;
};

struct file {
    struct inode *f_inode;
};

struct socket {
    struct file *file;
};

struct sock {
    struct sock_common __sk_common;
    __u16 sk_protocol;
    unsigned long sk_pacing_rate;
    struct socket *sk_socket;
    void *sk_bpf_storage;
};

struct inet_connection_sock {
    __u8 icsk_ca_state : 5;
};

struct minmax_sample {
    __u32 t, v;
};

struct minmax {
    struct minmax_sample s[3];
};

struct tcp_sock {
    struct inet_connection_sock inet_conn;
    __u32 copied_seq, write_seq, snd_nxt, snd_una, snd_wnd, snd_sml, snd_cwnd, packets_out, mss_cache;
    __u8 nonagle : 4;
    struct minmax rtt_min;
};

/* keep_call() copies the whole structure; registers_of() of places.c knows its order. */
struct pt_regs {
    unsigned long sp;
};

struct sk_buff {
    unsigned int len;
    unsigned char *head;
    __u16 transport_header;
};

#pragma clang attribute pop

#endif
