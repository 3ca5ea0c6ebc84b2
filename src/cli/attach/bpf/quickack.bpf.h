/* SPDX-License-Identifier: MIT
 *
 * The receiving side: acknowledgements come sooner, and as late as before.  Included by attach.bpf.c.
 */
#ifndef UNSTALL_QUICKACK_BPF_H
#define UNSTALL_QUICKACK_BPF_H

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

#endif
