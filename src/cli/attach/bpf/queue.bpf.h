/* SPDX-License-Identifier: MIT
 *
 * Connections that wait in a listener for accept().  They have no descriptor yet, by which `mark` would find
 * them; and the listener had no record that they could inherit when they were made.
 * Included by attach.bpf.c.
 */
#ifndef UNSTALL_QUEUE_BPF_H
#define UNSTALL_QUEUE_BPF_H

enum { LISTEN = 10, QUEUE = 65536 };

/* By the address of the socket, from `mark` to `take`. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, QUEUE);
    __type(key, __u64);
    __type(value, __u8);
} noted SEC(".maps");

static __always_inline void note(const struct sock *sk) {
    __u64 address = (__u64)sk;
    __u8 yes = 1;
    if (address)
        bpf_map_update_elem(&noted, &address, &yes, BPF_ANY);
}

static long note_next(__u64 index, struct request_sock **next) {
    struct request_sock *request = *next;
    if (!request)
        return 1;
    note(BPF_CORE_READ(request, sk));
    *next = BPF_CORE_READ(request, dl_next);
    return 0;
}

static __always_inline void note_queue(const struct sock *listener) {
    const struct inet_connection_sock *c = (const void *)listener;
    struct request_sock *next = BPF_CORE_READ(c, icsk_accept_queue.rskq_accept_head);
    bpf_loop(QUEUE, note_next, &next, 0);
}

static __always_inline int is_noted(const struct tcp_sock *tp) {
    __u64 address = (__u64)tp;
    return bpf_map_lookup_elem(&noted, &address) != 0;
}

#endif
