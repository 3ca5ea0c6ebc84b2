/* SPDX-License-Identifier: MIT
 *
 * The members of kernel structures that the BPF programs of scan and attach read.  libbpf fills in their
 * offsets when it loads a program (CO-RE), so order, size and missing members do not matter here.
 */
#ifndef UNSTALL_KERNEL_TYPES_H
#define UNSTALL_KERNEL_TYPES_H

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
    volatile unsigned char skc_state;
};

struct kernfs_node {
    __u64 id;
};

struct cgroup {
    int level;
    struct kernfs_node *kn;
    struct cgroup *ancestors[];
};

struct sock_cgroup_data {
    struct cgroup *cgroup;
};

struct sock {
    struct sock_common __sk_common;
    __u16 sk_protocol;
    unsigned long sk_pacing_rate;
    struct socket *sk_socket;
    struct sock_cgroup_data sk_cgrp_data;
    void *sk_bpf_storage;
};

struct inode {
    unsigned long i_ino;
};

struct file {
    struct inode *f_inode;
};

struct socket {
    struct file *file;
    struct sock *sk;
};

struct request_sock {
    struct request_sock *dl_next;
    struct sock *sk;
};

struct request_sock_queue {
    struct request_sock *rskq_accept_head;
};

struct inet_connection_sock {
    struct request_sock_queue icsk_accept_queue;
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
    __u32 copied_seq, rcv_nxt, write_seq, snd_nxt, snd_una, snd_wnd, snd_sml, snd_cwnd;
    __u32 mss_cache, packets_out, data_segs_out;
    __u64 tcp_mstamp;
    __u8 nonagle : 4;
    struct minmax rtt_min;
};

struct mptcp_sock {
    struct sock *first;
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

struct task_struct {
    int tgid;
    struct task_struct *group_leader;
    __u64 start_time;
};

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
};

struct bpf_iter__task_file {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
    __u32 fd;
    struct file *file;
};

struct bpf_iter__tcp {
    struct bpf_iter_meta *meta;
    struct sock_common *sk_common;
    __u32 uid;
};

#pragma clang attribute pop

#endif
