/* SPDX-License-Identifier: MIT
 *
 * Gives TCP_NODELAY to the sockets of a cgroup, and takes it back.
 *
 * The programs take over a socket when its connection is made (sock_ops); a walk over all sockets takes over
 * the existing ones.  Mode `always` then sets the option.  Mode `proof` asks for a callback at each round
 * trip, and sets the option once an acknowledgement has come late while less than a segment waited.  The
 * application reads back the value that it set, and its TCP_NODELAY=0 does not bring the stall back
 * (getsockopt, setsockopt).
 *
 * The storage of a socket records our changes.  The walk `restore` undoes them; it is pinned, so that it
 * outlives the command.
 */
#include <linux/bpf.h>

#include "kernel_types.h"

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#include "held.bpf.h"
#include "shared.h"

enum {
    NODELAY = 1,
    ESTABLISHED = 1,
    CLOSE_WAIT = 8,
    PAGE = 4096,
    CGROUP_LEVELS = 64,
};

struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE); /* accepted ones have their listener's */
    __type(key, int);
    __type(value, struct attach_socket);
} sockets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct attach_config);
} config SEC(".maps");

static __always_inline struct attach_config *configuration(void) {
    __u32 key = 0;
    return bpf_map_lookup_elem(&config, &key);
}

/* ---- taking in, and giving back ------------------------------------------------ */

/* `to` is the first argument of bpf_setsockopt(), which differs by the kind of program. */
static __always_inline void cure(void *to, struct attach_socket *s, struct attach_config *c) {
    int one = 1;
    s->own = 0;
    s->cured = 1;
    if (bpf_setsockopt(to, TCP, NODELAY, &one, sizeof(one)) != 0)
        s->cured = 0;
    else
        __sync_fetch_and_add(&c->cured, 1);
}

/* Mode `always`: a program that has set the option itself keeps its value; the record is there so
 * that a later TCP_NODELAY=0 does not bring the stall back. */
static __always_inline void cure_at_once(void *to, struct attach_socket *s,
                                         struct attach_config *c) {
    int now = 0;
    if (s->cured || bpf_getsockopt(to, TCP, NODELAY, &now, sizeof(now)) != 0)
        return;
    if (!now) {
        cure(to, s, c);
    } else {
        s->own = 1;
        s->cured = 1;
    }
}

static __always_inline void give_back(void *to, struct attach_socket *s) {
    int zero = 0;
    if (s->cured && !s->own)
        bpf_setsockopt(to, TCP, NODELAY, &zero, sizeof(zero));
    s->cured = 0;
}

/* ---- the receiving side: acknowledgements come sooner, and as late as before ------------- */

enum {
    DELACK_MAX = 1003, /* TCP_BPF_DELACK_MAX */
    DELAY_US = 200000, /* TCP_DELACK_MAX of the kernel: the longest delay, unless it was set (6.15) */
};

static __always_inline int quicken_to(void *to, struct attach_socket *s, struct attach_config *c,
                                      int own, int wanted) {
    if (own <= wanted || bpf_setsockopt(to, TCP, DELACK_MAX, &wanted, sizeof(wanted)) != 0)
        return 0;
    s->delay_us = own;
    s->quick_us = wanted;
    __sync_fetch_and_add(&c->quick, 1);
    return 1;
}

/* The kernel takes two ticks at least: 2 ms with HZ=1000, 8 ms with 250, 20 ms with 100. */
static __always_inline void quicken(void *to, struct attach_socket *s, struct attach_config *c) {
    int own = DELAY_US;
    if (!c->quickack || s->quick_us)
        return;
    bpf_getsockopt(to, TCP, DELACK_MAX, &own, sizeof(own)); /* Linux 6.13; nothing set it before */
    if (!quicken_to(to, s, c, own, 2000) && !quicken_to(to, s, c, own, 8000))
        quicken_to(to, s, c, own, 20000);
}

static __always_inline void slow_down(void *to, struct attach_socket *s) {
    int now = s->quick_us, own = s->delay_us;
    if (!s->quick_us)
        return;
    bpf_getsockopt(to, TCP, DELACK_MAX, &now, sizeof(now));
    if (now == s->quick_us) /* the program has not set it meanwhile */
        bpf_setsockopt(to, TCP, DELACK_MAX, &own, sizeof(own));
    s->quick_us = 0;
}

/* Gives the socket all its own values back.  Its record, or 0: it has none. */
static __always_inline struct attach_socket *give_all_back(void *to, void *sk) {
    struct attach_socket *s = bpf_sk_storage_get(&sockets, sk, 0, 0);
    if (s) {
        give_back(to, s);
        slow_down(to, s);
    }
    return s;
}

#include "experiment.bpf.h"

/* ---- connections that wait in a listener for accept() ------------------------------------ */

/* They have no descriptor yet, by which `mark` would find them.  And the listener had no record that they
 * could inherit when they were made. */

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

/* ---- sockets of MPTCP, of one process ---------------------------------------------------- */

/* The process has a descriptor of the socket of MPTCP; the kernel makes the TCP connections below it, without
 * the process and without `on_create`.  So the record of the former says `member`, and the latter get theirs
 * when they listen or are connected; those that exist are noted by `mark`, and the connections that a
 * listener accepts inherit its record. */

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

/* ---- the callbacks that we ask for on a connection --------------------------------------- */

/* Each connection that we take in asks for that of a change of its state.  When a connection ends, its socket
 * has its own values at once: no walk over the connections finds a socket without one, and the program may
 * keep it and connect it again. */

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

/* ---- mode proof -------------------------------------------------------------------------- */

/* TCP_NODELAY once a stall was proved, and Nagle's algorithm again for a one-way stream. */

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

/* ---- new connections ------------------------------------------------------------ */

static __always_inline int has_port(const struct attach_config *c, __u32 local, __u32 remote) {
    return c->port == 0 || c->port == local || c->port == remote;
}

static __always_inline int on_established(struct bpf_sock_ops *ops, struct bpf_sock *sk) {
    struct attach_config *c = configuration();
    if (!c || !has_port(c, ops->local_port, bpf_ntohl(ops->remote_port)))
        return 1;
    struct attach_socket *s =
        bpf_sk_storage_get(&sockets, sk, 0, c->by_process ? 0 : BPF_SK_STORAGE_GET_F_CREATE);
    if (!s && c->by_process)
        s = adopt(sk);
    if (!s || (c->by_process && !s->member))
        return 1;
    struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
    quicken(ops, s, c);
    if (c->experiment.arms) {
        enrol(ops, tp, s, c,
              ops->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB ? ROLE_LISTENER : ROLE_DESTINATION);
    } else if (c->mode == ATTACH_ALWAYS) {
        cure_at_once(ops, s, c);
    }
    arm(ops, s, first_callback(c));
    return 1;
}

SEC("sockops")
int on_event(struct bpf_sock_ops *ops) {
    struct bpf_sock *sk = ops->sk;
    if (!sk)
        return 1;
    switch (ops->op) {
    case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
    case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB: return on_established(ops, sk);
    case BPF_SOCK_OPS_RTT_CB: return on_round_trip(ops, sk);
    case BPF_SOCK_OPS_STATE_CB: return on_state(ops, sk);
    case BPF_SOCK_OPS_TCP_LISTEN_CB: adopt(sk); return 1;
    default: return 1;
    }
}

/* ---- the program's own value, set and read back ---------------------------------------- */

/* Passes the call on.  For a value longer than one page, of which a BPF program sees one page only, the
 * kernel demands optlen 0. */
static __always_inline int pass(struct bpf_sockopt *ctx) {
    if (ctx->optlen > PAGE)
        ctx->optlen = 0;
    return 1;
}

SEC("cgroup/setsockopt")
int on_setsockopt(struct bpf_sockopt *ctx) {
    __u8 *value = ctx->optval, *end = ctx->optval_end;
    if (ctx->level != TCP || ctx->optname != NODELAY || !ctx->sk || value + sizeof(int) > end)
        return pass(ctx);
    struct attach_socket *s = bpf_sk_storage_get(&sockets, ctx->sk, 0, 0);
    if (!s || !s->cured)
        return pass(ctx);
    int wanted = 0;
    __builtin_memcpy(&wanted, value, sizeof(wanted));
    s->own = wanted != 0;
    if (!wanted)
        ctx->optlen = -1; /* done: the kernel's own setsockopt is not called */
    return 1;
}

SEC("cgroup/getsockopt")
int on_getsockopt(struct bpf_sockopt *ctx) {
    __u8 *value = ctx->optval, *end = ctx->optval_end;
    if (ctx->level != TCP || ctx->optname != NODELAY || !ctx->sk || value + sizeof(int) > end)
        return pass(ctx);
    struct attach_socket *s = bpf_sk_storage_get(&sockets, ctx->sk, 0, 0);
    if (!s || !s->cured || s->own || ctx->retval != 0)
        return pass(ctx);
    int shown = 0;
    __builtin_memcpy(value, &shown, sizeof(shown));
    return 1;
}

/* ---- the sockets of one process ---------------------------------------------------- */

SEC("cgroup/sock_create")
int on_create(struct bpf_sock *ctx) {
    struct attach_config *c = configuration();
    if (!c || c->process == 0 || (ctx->protocol != TCP && ctx->protocol != MPTCP) ||
        bpf_get_current_pid_tgid() >> 32 != c->process)
        return 1;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    if (BPF_CORE_READ(task, group_leader, start_time) != c->start_ns)
        return 1;
    struct attach_socket *s = bpf_sk_storage_get(&sockets, ctx, 0, BPF_SK_STORAGE_GET_F_CREATE);
    if (s)
        s->member = 1;
    return 1;
}

/* The kernel runs this iterator for the descriptors of one process only. */
SEC("iter/task_file")
int mark(struct bpf_iter__task_file *ctx) {
    struct task_struct *task = ctx->task;
    struct file *file = ctx->file;
    struct attach_config *c = configuration();
    if (!task || !c)
        return 0;
    if (c->process == 0) {
        c->start_ns = BPF_CORE_READ(task, group_leader, start_time);
        c->process = task->tgid;
    }
    if (!file)
        return 0;
    struct socket *socket = bpf_sock_from_file(file);
    struct sock *sk = socket ? socket->sk : 0;
    if (!sk || (sk->sk_protocol != TCP && sk->sk_protocol != MPTCP))
        return 0;
    struct attach_socket *s = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
    if (s)
        s->member = 1;
    if (sk->sk_protocol == MPTCP)
        note_below(sk);
    else if (sk->__sk_common.skc_state == LISTEN)
        note_queue(sk);
    return 0;
}

/* ---- connections that exist --------------------------------------------------------- */

static __always_inline int is_in_cgroup(const struct attach_config *c, const struct sock *sk) {
    struct cgroup *own = BPF_CORE_READ(sk, sk_cgrp_data.cgroup), *above = 0;
    int level = BPF_CORE_READ(own, level);
    if (c->whole_host)
        return 1;
    for (int i = 0; i < CGROUP_LEVELS; i++, level--) {
        if (!own || level < 0)
            return 0;
        bpf_probe_read_kernel(&above, sizeof(above),
                              (void *)own + bpf_core_field_offset(struct cgroup, ancestors) +
                                  (__u64)level * sizeof(void *));
        if (BPF_CORE_READ(above, kn, id) == c->cgroup)
            return 1;
    }
    return 0;
}

static __always_inline struct tcp_sock *connection_of(struct sock_common *skc) {
    if (!skc || (skc->skc_state != ESTABLISHED && skc->skc_state != CLOSE_WAIT))
        return 0;
    return bpf_skc_to_tcp_sock(skc);
}

static __always_inline void take_in(struct tcp_sock *tp, struct attach_socket *s,
                                    struct attach_config *c) {
    if (c->experiment.arms)
        enrol(tp, tp, s, c, ROLE_UNKNOWN);
    if (s->armed)
        return; /* it has just been made, and is known */
    int always = c->mode == ATTACH_ALWAYS || s->cured;
    int asked = arm_existing(tp, s, always ? 0 : first_callback(c)) == 0;
    if (!c->experiment.arms && (always || !asked))
        cure_at_once(tp, s, c);
}

SEC("iter/tcp")
int take(struct bpf_iter__tcp *ctx) {
    struct sock_common *skc = ctx->sk_common;
    struct tcp_sock *tp = connection_of(skc);
    struct attach_config *c = configuration();
    if (skc && c && c->by_process)
        take_listener(skc);
    if (!tp || !c || !has_port(c, skc->skc_num, bpf_ntohs(skc->skc_dport)))
        return 0;
    struct attach_socket *s = bpf_sk_storage_get(&sockets, tp, 0, 0);
    if (c->by_process ? (!s || !s->member) && !is_noted(tp) : !is_in_cgroup(c, (struct sock *)tp))
        return 0;
    if (!s)
        s = bpf_sk_storage_get(&sockets, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
    if (s) {
        s->member = c->by_process != 0;
        quicken(tp, s, c);
        take_in(tp, s, c);
    }
    return 0;
}

SEC("iter/tcp")
int restore(struct bpf_iter__tcp *ctx) {
    struct sock_common *skc = ctx->sk_common;
    struct tcp_sock *tp = skc ? bpf_skc_to_tcp_sock(skc) : 0;
    int flags = 0;
    if (!tp)
        return 0;
    struct attach_socket *s = give_all_back(tp, tp);
    if (!s)
        return 0;
    if (s->armed && bpf_getsockopt(tp, TCP, CALLBACK_FLAGS, &flags, sizeof(flags)) == 0) {
        flags &= ~(int)s->armed;
        bpf_setsockopt(tp, TCP, CALLBACK_FLAGS, &flags, sizeof(flags));
    }
    s->armed = 0;
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
