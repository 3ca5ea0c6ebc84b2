/* SPDX-License-Identifier: MIT */
#include "decide.h"

#include "clock.h"
#include "endpoint_cache.h"
#include "evidence.h"
#include "fds.h"
#include "hold.h"
#include "kernel.h"
#include "proof.h"

bool hold_refused;

/* Asks policy, and again once the kernel has given the facts that it misses. */
#define ASK(c, action, question)             \
    do {                                     \
        (action) = (question);               \
        if (UNLIKELY((action).need_facts)) { \
            hold_ask_facts(c);               \
            (action) = (question);           \
        }                                    \
    } while (0)

struct policy_action decide_write(struct conn *c, const struct policy_limits *limits,
                                  const struct policy_write *w) {
    struct policy_action action;
    ASK(c, action, policy_write(&c->policy, limits, w));
    return action;
}

/* The library saw no input.  The kernel's count shows whether none came, or another reader took it. */
static bool input_came_unseen(struct conn *c) {
    struct kernel_tcp_info info;
    if (kernel->tcp_info(c->fd, &info) != 0 || info.bytes_received == 0)
        return false;
    c->policy.input_ever = true;
    c->policy.one_way = false;
    return true;
}

void decide_apply(struct conn *c, const struct policy_action *action, int fd) {
    if (UNLIKELY(action->back_to_app) && !input_came_unseen(c))
        hold_restore(c);
    if (UNLIKELY(action->late_push)) {
        hold_set_nodelay(c, fds_word(fd) == (uintptr_t)c ? fd : c->fd); /* else a handler has closed it */
        c->counts.late_pushes++;
    }
}

static uint16_t now_ms(void) {
    return (uint16_t)(clock_coarse() / 1000000 | 1);
}

/* Bytes before it are unacknowledged, or it is held already. */
static void write_waits(struct conn *c, int fd) {
    if (!c->policy.crosses) {
        c->crossed_ms = now_ms();
        return;
    }
    hold_set_nodelay(c, fd);
    c->counts.late_pushes++;
}

/* Policy does not know all options of a socket whose creation we did not see. */
static bool may_wait(struct conn *c, struct kernel_tcp_info *info, int fd) {
    struct policy *p = &c->policy;
    if (!mode_cures((enum mode)p->mode) || config()->no_syscalls)
        return false;
    if (UNLIKELY(p->unsure))
        hold_ask_facts(c);
    return (!p->nodelay || p->nodelay_uncertain) && !policy_left_alone(p, config()->override) &&
           kernel->tcp_info(fd, info) == 0;
}

void decide_crossing(struct conn *c, int fd) {
    struct kernel_tcp_info before;
    if (may_wait(c, &before, fd) && before.unacked > 0)
        write_waits(c, fd);
}

void decide_crossed(struct conn *c, int fd) {
    struct kernel_tcp_info after;
    if (may_wait(c, &after, fd) && proof_held(&after))
        write_waits(c, fd);
}

/* A loss delays by RTO_LEAST_MS or more, a delayed acknowledgement by less.  The clocks of both times advance
 * by a tick of the kernel, 1 to 10 ms.  Of several writes since then the kernel tells the last one's time. */
void decide_crossing_slow(struct conn *c) {
    enum { RTO_LEAST_MS = 200 };
    struct kernel_tcp_info info;
    int age = (uint16_t)(now_ms() - c->crossed_ms);
    c->crossed_ms = 0;
    if (age < PROOF_LEAST_MS || c->policy.units != 1 || !may_wait(c, &info, c->fd) ||
        info.last_sent_ms > (uint32_t)age)
        return;
    int held = age - (int)info.last_sent_ms, round_trip = (int)(info.rtt_least_us / 1000);
    if (held < PROOF_LEAST_MS + round_trip || held >= RTO_LEAST_MS + round_trip)
        return;
    evidence_crossing(c, (uint64_t)held * 1000000);
    c->policy.crosses = true;
    endpoint_crosses(c);
    hold_set_nodelay(c, c->fd);
    c->counts.late_pushes++;
}

void decide_release(struct conn *c, size_t waiting) {
    struct policy_limits limits = decide_limits();
    struct policy_action action;
    ASK(c, action, policy_release(&c->policy, &limits, waiting));
    decide_apply(c, &action, c->fd);
    if (UNLIKELY(action.crossing))
        decide_crossing(c, c->fd);
}

void decide_uncork(struct conn *c) {
    struct policy_limits limits = decide_limits();
    struct policy_action action;
    ASK(c, action, policy_uncork(&c->policy, &limits));
    decide_apply(c, &action, c->fd);
    if (UNLIKELY(action.crossing))
        decide_crossed(c, c->fd);
    evidence_uncorked(c, &action);
}
