/* SPDX-License-Identifier: MIT
 *
 * The application reads back the option values that it set, even if the library has set others in the kernel.
 * conn_missed(): what was set aside while the lock could not be had, options among it.
 */
#include <linux/tcp.h>

#include "evidence.h"
#include "reentry.h"
#include "shim.h"

/* Newer than some headers; or, the last one, in <linux/in6.h> alone, which cannot stand beside
 * <netinet/in.h>. */
#ifndef TCP_AO_ADD_KEY
#define TCP_AO_ADD_KEY 38 /* Linux 6.7, as the next two */
#define TCP_AO_DEL_KEY 39
#define TCP_AO_INFO    40
#endif
#ifndef IPV6_FLOWLABEL_MGR
#define IPV6_FLOWLABEL_MGR 32
#endif

static _Thread_local uint32_t restores_before;

/* How an option concerns the library; docs/decisions.md has the table with the reasons. */
enum concern {
    OF_NONE,
    OF_HOLDS, /* the application holds bytes itself: our holds end first */
    OF_ROOM,  /* changes the room in the kernel on which buffered bytes rely */
    OF_APART, /* from then on nothing is held or buffered */
    OF_LATER, /* applies to the bytes that leave from then on */
};

static enum concern concern_of(int level, int name) {
#define TCP(name)    case (uint64_t)IPPROTO_TCP << 32 | TCP_##name
#define SOCKET(name) case (uint64_t)SOL_SOCKET << 32 | SO_##name
#define IPV4(name)   case (uint64_t)IPPROTO_IP << 32 | IP_##name
#define IPV6(name)   case (uint64_t)IPPROTO_IPV6 << 32 | IPV6_##name
    switch ((uint64_t)(uint32_t)level << 32 | (uint32_t)name) {
    TCP(NODELAY): TCP(CORK): TCP(ULP): return OF_HOLDS;
    SOCKET(SNDBUF): SOCKET(SNDBUFFORCE): return OF_ROOM;
    TCP(NOTSENT_LOWAT): TCP(FASTOPEN_CONNECT): TCP(REPAIR):
    SOCKET(TIMESTAMPING): SOCKET(TIMESTAMPING_NEW): SOCKET(TXTIME): SOCKET(ZEROCOPY): return OF_APART;
    TCP(MAXSEG): TCP(MD5SIG): TCP(MD5SIG_EXT): TCP(CONGESTION): TCP(TX_DELAY):
    TCP(AO_ADD_KEY): TCP(AO_DEL_KEY): TCP(AO_INFO):
    SOCKET(PRIORITY): SOCKET(MARK): SOCKET(MAX_PACING_RATE): SOCKET(DONTROUTE):
    SOCKET(BINDTODEVICE): SOCKET(BINDTOIFINDEX): SOCKET(CNX_ADVICE):
    IPV4(TOS): IPV4(TTL): IPV4(OPTIONS): IPV4(MTU_DISCOVER): IPV4(IPSEC_POLICY): IPV4(XFRM_POLICY):
    IPV6(TCLASS): IPV6(UNICAST_HOPS): IPV6(HOPOPTS): IPV6(DSTOPTS): IPV6(RTHDRDSTOPTS): IPV6(RTHDR):
    IPV6(2292PKTOPTIONS): IPV6(MTU_DISCOVER): IPV6(FLOWLABEL_MGR): IPV6(AUTOFLOWLABEL):
    IPV6(IPSEC_POLICY): IPV6(XFRM_POLICY): return OF_LATER;
    default: return OF_NONE;
    }
#undef TCP
#undef SOCKET
#undef IPV4
#undef IPV6
}

void shim_option_setting(int fd, int level, int name) {
    restores_before = LOAD(&hold_restores);
    enum concern concern = concern_of(level, name);
    if (concern == OF_NONE || (concern == OF_ROOM && !config()->buffers) || !gate_enter())
        return;
    struct conn *c = concern == OF_HOLDS || concern == OF_ROOM ? shim_lock_fd(fd) : fds_lock(fd);
    if (!c) {
        restores_before--; /* its holder may be about to restore a value: so nodelay_set() sets it again */
        return;
    }
    hold_push(c, PUSH_APPLICATION);
    conn_unlock(c);
}

static void nodelay_set(struct conn *c, bool on) {
    struct policy *p = &c->policy;
    p->app_nodelay = on;
    p->nodelay = on;
    p->had_option |= on;
    /* Another thread may have restored an older value since the application's call. */
    if (on && UNLIKELY(LOAD(&hold_restores) != restores_before))
        kernel->set_option(c->fd, IPPROTO_TCP, TCP_NODELAY, 1);
    /* A cured connection stays cured after TCP_NODELAY=0.  Erlang and Mono set that by
     * default and tornado toggles it: none of them wants the stall. */
    if (!on && mode_cures((enum mode)p->mode) &&
        (c->counts.late_pushes || p->untracked_io || p->bursty || config()->always_nodelay))
        hold_set_nodelay(c, c->fd);
}

static void cork_set(struct conn *c, bool on) {
    struct policy *p = &c->policy;
    if (on || !p->app_cork) {
        p->app_cork = on;
        p->had_option |= on;
        return;
    }
    decide_uncork(c); /* TCP_CORK=0 alone leaves the end to Nagle (tcp(7)) */
}

/* What the application's value of an option means for us: flags of enum conn_aside.  kTLS (TCP_ULP): a key is
 * for the bytes that follow it. */
static unsigned meaning_of(enum concern concern, int name, const void *value, socklen_t length) {
    int on = 0;
    if (length >= sizeof(on))
        memcpy(&on, value, sizeof(on));
    if (concern == OF_APART)
        return name == SO_TXTIME || hold_tells_apart(on) ? ASIDE_APART : 0;
    if (concern != OF_HOLDS || (length < sizeof(on) && name != TCP_ULP))
        return 0;
    return name == TCP_ULP       ? ASIDE_APART
           : name == TCP_NODELAY ? ASIDE_NODELAY | (on ? ASIDE_NODELAY_1 : 0)
                                 : ASIDE_CORK | (on ? ASIDE_CORK_1 : 0);
}

void shim_option_set(int fd, int level, int name, const void *value, socklen_t length) {
    enum concern concern = concern_of(level, name);
    bool quickack = level == IPPROTO_TCP && name == TCP_QUICKACK;
    if ((concern == OF_NONE || concern == OF_LATER) && !quickack)
        return;
    unsigned what = meaning_of(concern, name, value, length);
    struct conn *c = gate_enter() ? fds_lock(fd) : NULL;
    if (!c) {
        c = what && ours_aside() ? fds_conn(fds_word(fd)) : NULL;
        if (c) /* instead of an earlier value */
            reentry_set_aside(c, what, (what & ASIDE_NODELAY ? ASIDE_NODELAY_1 : 0) |
                                           (what & ASIDE_CORK ? ASIDE_CORK_1 : 0));
        return;
    }
    if (quickack && c->evidence)
        c->evidence->quickack.hands_off = true;
    if (concern == OF_ROOM)
        c->policy.buffer_limit = 0; /* ask again */
    conn_missed(c, what);
    conn_unlock(c);
}

void conn_missed(struct conn *c, unsigned what) {
    struct policy *p = &c->policy;
    if (what & ASIDE_NUMBERS) {
        bool in_use = c->refs > 0;
        fds_recount(c);
        if (in_use && c->refs == 0 && !self.spinning) /* else a list's lock is held beneath */
            fds_free(c);
    }
    if (what & ASIDE_NEW) { /* the counts of the kernel have begun anew */
        c->origin = ORIGIN_FOREIGN;
        p->established = false;
        p->unsure = true;
    }
    p->never_hold |= (what & ASIDE_APART) != 0;
    if (what & ASIDE_INPUT) {
        c->counts.reads++;
        policy_input(p, 1, 0, false);
    }
    if (what & ASIDE_NODELAY)
        nodelay_set(c, what & ASIDE_NODELAY_1);
    if (what & ASIDE_CORK)
        cork_set(c, what & ASIDE_CORK_1);
    if ((what & ASIDE_PUSH) && c->refs > 0 && mode_cures((enum mode)p->mode)) {
        STORE(&c->held, true); /* as it was then */
        hold_push(c, PUSH_WAIT);
    }
    if (what & ASIDE_SHUT)
        policy_refuses(p);
    if (what & ASIDE_SHUTS)
        buffer_shut(c);
}

static void answer(void *value, socklen_t length, int n) {
    memcpy(value, &n, length < sizeof(n) ? length : sizeof(n));
}

/* The kernel's answer, of which `length` bytes were asked for. */
static int told(const void *value, socklen_t length) {
    int n = 0;
    memcpy(&n, value, length < sizeof(n) ? length : sizeof(n));
    return n;
}

/* If the library has set nothing, the kernel's value is the application's, by whichever call it was set.
 * If it has ever restored a value, it asks again: that may have been since the application's call. */
static int nodelay_of_application(const struct conn *c, int said) {
    const struct policy *p = &c->policy;
    int now;
    if (mode_cures((enum mode)p->mode) || p->nodelay != p->app_nodelay)
        return p->app_nodelay;
    if (!LOAD(&hold_restores))
        return said;
    if ((said != 0) == p->app_nodelay || config()->no_syscalls ||
        kernel->get_option(c->fd, IPPROTO_TCP, TCP_NODELAY, &now) != 0)
        return p->app_nodelay;
    return now != 0;
}

/* Without the lock.  What was set since is set aside. */
static void got_aside(int fd, bool nodelay, void *value, socklen_t length) {
    const struct conn *c = nodelay && ours_aside() ? fds_conn(fds_word(fd)) : NULL;
    uintptr_t aside = c ? LOAD(&c->aside) : 0;
    if (aside & ASIDE_NODELAY)
        answer(value, length, (aside & ASIDE_NODELAY_1) != 0);
    else if (c && !c->policy.unsure)
        answer(value, length, nodelay_of_application(c, told(value, length)));
}

void shim_option_got(int fd, int level, int name, void *value, socklen_t length) {
    bool nodelay = level == IPPROTO_TCP && name == TCP_NODELAY;
    bool error = level == SOL_SOCKET && name == SO_ERROR;
    if (!nodelay && !error)
        return;
    struct conn *c = !gate_enter() ? NULL : nodelay ? shim_lock_fd(fd) : fds_lock(fd);
    if (!c) {
        got_aside(fd, nodelay, value, length);
        return;
    }
    if (error && c->evidence && !c->policy.established && !c->evidence->wrote)
        c->evidence->opened = clock_now(); /* a non-blocking connect has ended by now */
    if (nodelay && !c->policy.unsure)
        answer(value, length, nodelay_of_application(c, told(value, length)));
    else if (error && c->pending_error)
        answer(value, length, shim_take_error(c));
    else if (error && length >= sizeof(int))
        policy_met(&c->policy, told(value, length));
    conn_unlock(c);
}
