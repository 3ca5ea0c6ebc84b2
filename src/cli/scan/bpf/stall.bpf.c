/* SPDX-License-Identifier: MIT
 *
 * Finds every stall of every TCP socket at two tracepoints; changes nothing.
 *
 * sock_send_length fires after each send: a hold begins if data is left unsent because of Nagle's
 * algorithm alone.  tcp_probe fires at each segment that an established socket receives, before the
 * kernel processes it: the hold ends if the segment lets the held data go.  A socket gets a record at
 * its first hold; all other sockets cost one comparison.
 */
#include <linux/bpf.h>

#include "kernel_types.h"

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#include "held.bpf.h"
#include "shared.h"

struct hold {
    __u64 begin_ns;
    __u32 process, user;
    __u32 next; /* snd_nxt at the hold: a larger one means that the data has been sent */
    __u8 held, waits;
    __u8 stalls;       /* 1: the socket has stalled */
    __u8 calls, pairs; /* kept */
    __u8 kept;         /* 1: the last send was kept */
    __u8 pair;         /* 1: it is held, and the one before it was kept */
    char name[NAME_SIZE];
};

struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct hold);
} holds SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, TOTALS_MOST);
    __type(key, __u64);
    __type(value, struct scan_total);
} totals SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, CALLS_RING);
} calls SEC(".maps");

/* Set before the program is loaded. */
const volatile __u32 keeps_calls = 0;
const volatile __u32 wanted_process = 0; /* its calls do not share the number of all others; 0: none */
const volatile __u32 wanted_port = 0;    /* no calls of connections without it are kept; 0: all */

/* Calls asked for in the second since begin_ns; a race may keep one more. */
struct window {
    __u64 begin_ns;
    __u32 calls;
};

static struct window of_wanted, of_others;

__u64 lost;   /* stalls of connections without room in `totals` */
__u64 unseen; /* holds that may have been stalls: the acknowledgement that ended them was not seen */

/* NULL, at the cost of one look, for a socket that nothing was ever kept of. */
static __always_inline struct hold *hold_of(struct sock *sk) {
    return sk->sk_bpf_storage ? bpf_sk_storage_get(&holds, sk, 0, 0) : 0;
}

static __always_inline void begin_hold(struct hold *h, const struct tcp_sock *tp) {
    h->begin_ns = bpf_ktime_get_ns();
    h->next = tp->snd_nxt;
    h->held = 1;
    h->process = bpf_get_current_pid_tgid() >> 32;
    h->user = (__u32)bpf_get_current_uid_gid();
    bpf_get_current_comm(h->name, sizeof(h->name));
}

static __always_inline int has_wanted_port(const struct sock *sk) {
    const struct sock_common *c = &sk->__sk_common;
    return !wanted_port || c->skc_num == wanted_port || bpf_ntohs(c->skc_dport) == wanted_port;
}

/* The end of a hold may be missed: tcp_probe is silent once the peer has shut down its side, and for up to a
 * millisecond where another program begins or ends to trace it.  What was in flight then is acknowledged
 * already, which an arriving segment does only after tcp_probe. */
static __always_inline void count_unseen(const struct sock *sk, const struct hold *h,
                                         const struct tcp_sock *tp) {
    if (h->held && has_wanted_port(sk) && !is_after(h->next, tp->snd_una) &&
        bpf_ktime_get_ns() - h->begin_ns >= LATE_NS + (__u64)tp->rtt_min.s[0].v * 1000)
        __sync_fetch_and_add(&unseen, 1);
}

/* ---- the calls that send ---- */

enum { CALLS_MOST = 32, PAIRS_MOST = 4, A_SECOND_MOST = 64, CHUNK = 512 };

static __always_inline int may_keep_call(__u32 process, __u64 now) {
    struct window *w = wanted_process && process == wanted_process ? &of_wanted : &of_others;
    if (now - w->begin_ns > 1000000000) {
        w->begin_ns = now;
        w->calls = 0;
    }
    return w->calls++ < A_SECOND_MOST;
}

/* Keeps the registers and the stack of the present send; 0: it does not.  The callers allow a few for each
 * socket that has stalled before; the wanted process and all others keep at most A_SECOND_MOST a second
 * each.  The copy ends where the stack ends. */
static __always_inline int keep_call(const struct sock *sk, const struct tcp_sock *tp, int bytes, int held) {
    __u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
    if (!may_keep_call(id >> 32, now))
        return 0;
    struct scan_call *c = bpf_ringbuf_reserve(&calls, sizeof(*c), 0);
    if (!c)
        return 0;
    struct pt_regs *registers = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
    c->cookie = bpf_get_socket_cookie((void *)sk);
    c->when_ns = now;
    c->process = id >> 32;
    c->thread = (__u32)id;
    c->bytes = bytes;
    c->held = held;
    c->stack_bytes = 0;
    c->read = tp->copied_seq;
    __u32 size = bpf_core_type_size(struct pt_regs);
    bpf_probe_read_kernel(c->registers, size < CALL_REGISTERS ? size : CALL_REGISTERS, registers);
    __u64 at = registers->sp;
    for (int i = 0; i < CALL_STACK / CHUNK; i++) {
        if (bpf_probe_read_user(&c->stack[i * CHUNK], CHUNK, (const void *)(at + i * CHUNK)))
            break;
        c->stack_bytes += CHUNK;
    }
    bpf_ringbuf_submit(c, 0);
    return 1;
}

/* A held send may itself be the one behind which the next is held. */
static __always_inline void keep_send(struct hold *h, const struct sock *sk, const struct tcp_sock *tp,
                                      int bytes, int held) {
    int second = held && h->kept;
    h->kept = keeps_calls && h->stalls && h->pairs < PAIRS_MOST && h->calls < CALLS_MOST &&
              has_wanted_port(sk) && keep_call(sk, tp, bytes, second);
    h->calls += h->kept;
    h->pair = second && h->kept;
}

/* The last send, and the one before it, have stalled. */
static __always_inline void keep_pair(struct hold *h, __u64 cookie) {
    __u64 *c = h->pair ? bpf_ringbuf_reserve(&calls, sizeof(*c), 0) : 0;
    h->pair = 0;
    if (!c)
        return;
    *c = cookie;
    bpf_ringbuf_submit(c, 0);
    h->pairs++;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(after_send, struct sock *sk, int result) {
    if (result <= 0 || !is_tcp(sk))
        return 0;
    struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
    if (!tp)
        return 0;
    if (tp->write_seq == tp->snd_nxt && !sk->sk_bpf_storage)
        return 0; /* nearly all sends end here: nothing is unsent, nothing was ever held */
    if (!is_held(sk, tp)) {
        struct hold *h = hold_of(sk);
        if (h) {
            count_unseen(sk, h, tp);
            h->held = 0;
            keep_send(h, sk, tp, result, 0);
        }
        return 0;
    }
    struct hold *h = bpf_sk_storage_get(&holds, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
    if (!h)
        return 0;
    if (h->held && h->next == tp->snd_nxt) { /* one more piece behind what is held already */
        h->kept = 0;
        return 0;
    }
    count_unseen(sk, h, tp);
    begin_hold(h, tp);
    keep_send(h, sk, tp, result, 1);
    return 0;
}

static __always_inline void describe(struct scan_total *t, const struct sock *sk) {
    const struct sock_common *c = &sk->__sk_common;
    t->family = c->skc_family;
    t->interface = c->skc_bound_dev_if;
    if (bpf_core_field_exists(c->skc_net.net) && bpf_core_field_exists(((struct net *)0)->ns.inum))
        t->network = BPF_CORE_READ(c, skc_net.net, ns.inum);
    describe_ends(&t->local, &t->peer, c);
    t->inode = BPF_CORE_READ(sk, sk_socket, file, f_inode, i_ino);
}

static __always_inline void count_stall(struct sock *sk, struct hold *h, __u64 took_ns) {
    struct scan_total empty = {0};
    __u64 cookie = bpf_get_socket_cookie(sk);
    struct scan_total *t = bpf_map_lookup_elem(&totals, &cookie);
    if (!t) {
        bpf_map_update_elem(&totals, &cookie, &empty, BPF_NOEXIST);
        t = bpf_map_lookup_elem(&totals, &cookie);
        if (!t) {
            __sync_fetch_and_add(&lost, 1);
            return;
        }
        describe(t, sk);
    }
    t->stalls++;
    t->lost_ns += took_ns;
    t->process = h->process;
    t->user = h->user;
    __builtin_memcpy(t->name, h->name, sizeof(t->name));
    h->waits = 1;
    h->stalls = 1;
    keep_pair(h, cookie);
}

static __always_inline void count_answer(struct sock *sk) {
    __u64 cookie = bpf_get_socket_cookie(sk);
    struct scan_total *t = bpf_map_lookup_elem(&totals, &cookie);
    if (t)
        t->answered++;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(before_receive, struct sock *sk, struct sk_buff *skb) {
    struct tcp_segment got;
    struct hold *h = hold_of(sk);
    if (!h || !(h->held || h->waits))
        return 0;
    struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
    if (!tp || read_segment(skb, &got))
        return 0;
    if (h->waits && got.bytes) {
        h->waits = 0;
        count_answer(sk);
    }
    if (!h->held)
        return 0;
    count_unseen(sk, h, tp);
    __u64 took_ns = bpf_ktime_get_ns() - h->begin_ns;
    enum hold_end end = end_of_hold(tp, &got, h->next, took_ns);
    h->held = end == HOLD_GOES_ON;
    if (end == STALL_ENDS)
        count_stall(sk, h, took_ns);
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
