/* SPDX-License-Identifier: MIT
 *
 * An experiment: each connection gets an arm by chance when it is taken in, and a record, to which
 * delay.bpf.h adds its measurements.  Included by attach.bpf.c.
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

#endif
