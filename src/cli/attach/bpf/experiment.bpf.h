/* SPDX-License-Identifier: MIT
 *
 * An experiment: each connection gets an arm by chance when it is taken in, and a record, to which its
 * measurements are added: exchanges, and their stalls, which are found as by unstall scan.  Included by
 * attach.bpf.c.
 */
#ifndef UNSTALL_EXPERIMENT_BPF_H
#define UNSTALL_EXPERIMENT_BPF_H

#include "assignment.h"

/* By the connection's number. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, ATTACH_CONNECTIONS);
    __type(key, __u64);
    __type(value, struct attach_connection);
} connections SEC(".maps");

/* The sums of each arm. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, STATS_ARMS);
    __type(key, __u32);
    __type(value, struct attach_arm);
} arms SEC(".maps");

const struct attach_connection blank = {0}; /* too large for the stack */

static __always_inline struct attach_arm *sums_of(const struct attach_connection *r) {
    __u32 arm = r->arm;
    return bpf_map_lookup_elem(&arms, &arm);
}

/* Takes a connection into the experiment, once.  `to` is the first argument of
 * bpf_setsockopt() in this program. */
static __always_inline void enrol(void *to, const struct tcp_sock *tp, struct attach_socket *s,
                                  struct attach_config *c, __u8 role) {
    struct attach_experiment *e = &c->experiment;
    if (!tp || s->number)
        return;
    __u64 number = __sync_add_and_fetch(&e->connections, 1);
    bpf_map_update_elem(&connections, &number, &blank, BPF_ANY);
    struct attach_connection *r = bpf_map_lookup_elem(&connections, &number);
    if (!r) {
        __sync_fetch_and_add(&e->missed, 1);
        return;
    }
    r->role = role;
    describe_ends(&r->local, &r->peer, &((const struct sock *)tp)->__sk_common);
    r->arm = assignment_arm(
        assignment_key(e->seed, e->assignment, number, &r->peer, attach_listener_of(r)), e->weight, e->arms);
    r->sent = r->answered = BPF_CORE_READ(tp, write_seq);
    r->segments_before = BPF_CORE_READ(tp, data_segs_out);
    if (e->nodelay >> (r->arm & 7) & 1)
        cure_at_once(to, s, c);
    else
        give_back(to, s); /* where no callback told the end of an earlier connection, in another arm */
    r->opened_ns = r->changed_ns = bpf_ktime_get_ns();
    s->number = number;
    struct attach_arm *sums = sums_of(r);
    if (sums)
        __sync_fetch_and_add(&sums->connections, 1);
    if (role == ROLE_UNKNOWN)
        __sync_fetch_and_add(&e->existed, 1);
}

/* ---- exchanges --------------------------------------------------------------------------- */

/* An exchange begins when the first write of a message has returned, and ends when the input that answers it
 * arrives.  The writes are seen after the kernel has let the socket go: an answer may have arrived by then,
 * and is known by `answered`. */

enum { CLOSED = 7, FIN_WAIT1 = 4, FIN_WAIT2 = 5, US = 1000 };

static __always_inline struct attach_socket *socket_of(const struct sock *sk) {
    return sk->sk_bpf_storage ? bpf_sk_storage_get(&sockets, (void *)sk, 0, 0) : 0;
}

static __always_inline struct attach_connection *record_of(const struct sock *sk) {
    struct attach_socket *s = socket_of(sk);
    if (!s || !s->number)
        return 0;
    __u64 number = s->number;
    return bpf_map_lookup_elem(&connections, &number);
}

static __always_inline int is_answered(const struct attach_connection *r, __u32 first) {
    return is_after(*(const volatile __u32 *)&r->answered, first);
}

static __always_inline void begin_message(struct attach_connection *r, __u64 now) {
    struct attach_arm *sums = sums_of(r);
    r->began_ns = now;
    r->messages++;
    if (sums)
        __sync_fetch_and_add(&sums->messages, 1);
}

static __always_inline void end_exchange(struct attach_connection *r, __u64 now) {
    struct attach_arm *sums = sums_of(r);
    __u64 ns = now > r->began_ns ? now - r->began_ns : 0;
    __u64 coarse = histogram_bucket_of(ns, COARSE_STEPS);
    __u64 fine = histogram_bucket_of(ns, HISTOGRAM_STEPS);
    r->began_ns = 0;
    r->exchanges++;
    r->exchange_ns += ns;
    r->changed_ns = now;
    barrier_var(coarse);
    if (coarse < COARSE_BUCKETS)
        r->exchange[coarse]++;
    if (!sums)
        return;
    __sync_fetch_and_add(&sums->exchanges, 1);
    __sync_fetch_and_add(&sums->exchange_ns, ns);
    barrier_var(fine);
    if (fine < HISTOGRAM_BUCKETS)
        __sync_fetch_and_add(&sums->exchange[fine], 1);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(after_send, struct sock *sk, int result) {
    struct attach_connection *r;
    if (result <= 0 || !is_tcp(sk) || !(r = record_of(sk)))
        return 0;
    struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
    if (!tp)
        return 0;
    __u64 now = bpf_ktime_get_ns();
    __u32 written = tp->write_seq, first = written - result;
    if (!r->began_ns && !is_answered(r, first)) {
        begin_message(r, now);
        if (is_answered(r, first)) /* in this moment, on another processor */
            r->began_ns = 0;
    }
    r->sent = written;
    if (!is_held(sk, tp)) {
        r->held_ns = 0;
    } else if (!r->held_ns || r->held_next != tp->snd_nxt) {
        r->held_next = tp->snd_nxt;
        r->held_ns = now;
    }
    return 0;
}

/* New data from the peer.  A message of which the send has not returned yet began at the latest event of the
 * connection. */
static __always_inline void on_input(struct attach_connection *r, const struct tcp_sock *tp,
                                     __u64 now) {
    if (!r->began_ns && tp->write_seq != r->sent)
        begin_message(r, tp->tcp_mstamp * US);
    if (r->began_ns)
        end_exchange(r, now);
    r->sent = r->answered = tp->write_seq;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(before_receive, struct sock *sk, struct sk_buff *skb) {
    struct tcp_segment got;
    struct attach_connection *r = record_of(sk);
    struct tcp_sock *tp = r ? bpf_skc_to_tcp_sock(sk) : 0;
    if (!r || !tp || read_segment(skb, &got))
        return 0;
    __u64 now = bpf_ktime_get_ns(), held_ns = r->held_ns;
    enum hold_end end = held_ns ? end_of_hold(tp, &got, r->held_next, now - held_ns) : HOLD_GOES_ON;
    if (end != HOLD_GOES_ON)
        r->held_ns = 0;
    if (end == STALL_ENDS) {
        struct attach_arm *sums = sums_of(r);
        r->stalls++;
        if (sums)
            __sync_fetch_and_add(&sums->stalls, 1);
    }
    if (got.bytes && is_after(got.sequence + got.bytes, tp->rcv_nxt))
        on_input(r, tp, now);
    return 0;
}

/* After shutdown(SHUT_WR) tcp_probe does not see arriving data. This tracepoint does, once the data is
 * queued.  The message is known by then, because its sends have returned; the FIN is no message. */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(after_data, const struct sock *sk) {
    __u8 state = sk->__sk_common.skc_state;
    if ((state != FIN_WAIT1 && state != FIN_WAIT2) || !is_tcp(sk))
        return 0;
    struct attach_connection *r = record_of(sk);
    if (r && r->began_ns)
        end_exchange(r, bpf_ktime_get_ns());
    return 0;
}

/* The socket may be connected again, which is another connection. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(after_state, const struct sock *sk, int before, int state) {
    struct attach_socket *s = state == CLOSED ? socket_of(sk) : 0;
    struct attach_connection *r = s ? record_of(sk) : 0;
    struct tcp_sock *tp = r ? bpf_skc_to_tcp_sock((void *)sk) : 0;
    if (!r || !tp || r->ended_ns)
        return 0;
    s->number = 0;
    struct attach_arm *sums = sums_of(r);
    r->segments = tp->data_segs_out - r->segments_before;
    r->changed_ns = r->ended_ns = bpf_ktime_get_ns();
    if (sums) {
        __sync_fetch_and_add(&sums->segments, r->segments);
        __sync_fetch_and_add(&sums->ended, 1);
    }
    return 0;
}

#endif
