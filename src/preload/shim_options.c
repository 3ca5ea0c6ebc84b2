/* SPDX-License-Identifier: MIT
 *
 * What the application sets is what it reads back, whatever the kernel has.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>

#include "config.h"
#include "clock.h"
#include "evidence.h"
#include "hold.h"
#include "kernel.h"
#include "fds.h"
#include "shim_parts.h"

static _Thread_local uint32_t restores_before;

void shim_option_setting(int fd, int level, int name) {
    restores_before = LOAD(&hold_restores);
    bool room = level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_SNDBUFFORCE);
    bool own = level == IPPROTO_TCP && (name == TCP_NODELAY || name == TCP_CORK || name == TCP_ULP);
    if (!(own || (room && config()->gathers)) || !ours())
        return; /* what was gathered counts on the room that there was */
    struct conn *c = shim_find(fd);
    if (!c)
        return;
    hold_push(c, PUSH_APPLICATION); /* its own holds begin where ours end */
    conn_unlock(c);
}

static void nodelay_set(struct conn *c, bool on) {
    struct policy *p = &c->policy;
    p->app_nodelay = on;
    p->nodelay = on;
    p->had_option |= on;
    /* between the application's call and this lock another thread may have put back what it took for the application's */
    if (on && UNLIKELY(LOAD(&hold_restores) != restores_before))
        kernel->set_option(c->fd, IPPROTO_TCP, TCP_NODELAY, 1);
    /* TCP_NODELAY=0 is no wish for the stall (Erlang and Mono set it by default,
     * tornado toggles it): where it was cured before it stays cured */
    if (!on && mode_cures((enum mode)p->mode) &&
        (c->counts.late_pushes || p->dark || p->ill || config()->always_nodelay))
        hold_set_nodelay(c, c->fd);
}

static void cork_set(struct conn *c, bool on) {
    struct policy *p = &c->policy;
    if (on || !p->app_cork) {
        p->app_cork = on;
        p->had_option |= on;
        return;
    }
    struct policy_limits limits = shim_limits();
    struct policy_action action = policy_uncork(p, &limits);
    if (action.need_facts) {
        hold_ask_facts(c);
        action = policy_uncork(p, &limits);
    }
    if (action.late_push) { /* TCP_CORK=0 alone leaves the end to Nagle (tcp(7)) */
        hold_set_nodelay(c, c->fd);
        c->counts.late_pushes++;
    }
}

void shim_option_set(int fd, int level, int name, const void *value, socklen_t length) {
    int on;
    bool room = level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_SNDBUFFORCE);
    if ((level != IPPROTO_TCP && !room) || !ours())
        return;
    if (!room && name != TCP_NODELAY && name != TCP_CORK && name != TCP_ULP && name != TCP_QUICKACK)
        return;
    struct conn *c = fds_lock(fd);
    if (!c)
        return;
    if (name == TCP_QUICKACK && !room) {
        if (c->evidence)
            c->evidence->quickack.hands_off = true;
    } else if (room) {
        c->policy.gather_limit = 0; /* ask again */
    } else if (name == TCP_ULP) {
        c->policy.no_more = true; /* kTLS: MSG_MORE leaves a record open */
    } else if (length >= sizeof(on)) {
        memcpy(&on, value, sizeof(on));
        if (name == TCP_NODELAY)
            nodelay_set(c, on != 0);
        else
            cork_set(c, on != 0);
    }
    conn_unlock(c);
}

static void answer(void *value, socklen_t length, int n) {
    memcpy(value, &n, length < sizeof(n) ? length : sizeof(n));
}

void shim_option_got(int fd, int level, int name, void *value, socklen_t length) {
    bool nodelay = level == IPPROTO_TCP && name == TCP_NODELAY;
    bool error = level == SOL_SOCKET && name == SO_ERROR;
    if ((!nodelay && !error) || !ours())
        return;
    struct conn *c = nodelay ? shim_find(fd) : fds_lock(fd);
    if (!c)
        return;
    if (error && c->evidence && !c->policy.established && !c->evidence->wrote)
        c->evidence->born = clock_now(); /* connect was not waited for: it is over now */
    if (nodelay && !c->policy.unsure)
        answer(value, length, c->policy.app_nodelay);
    else if (error && c->kept_error)
        answer(value, length, shim_take_error(c));
    else if (error && length >= sizeof(int))
        policy_met(&c->policy, *(const int *)value);
    conn_unlock(c);
}
