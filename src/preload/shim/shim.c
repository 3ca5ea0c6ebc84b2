/* SPDX-License-Identifier: MIT
 *
 * Finding a connection (classifying at first sight, filters, configuration),
 * reads, and what ends the turn of a thread from outside a connection.
 */
#include "shim.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "config.h"
#include "cookies.h"
#include "evidence.h"
#include "fds.h"
#include "gather.h"
#include "hold.h"
#include "kernel.h"
#include "kin.h"
#include "log.h"
#include "policy_inline.h"
#include "readable.h"
#include "shim_parts.h"
#include "tally.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* ---- first sight ----------------------------------------------------- */

/* Two queries of a descriptor that was not born in our sight: SO_PROTOCOL, and
 * SO_COOKIE where it is TCP.  The application's options are asked when it
 * matters (policy.unsure). */
static struct conn *classify(int fd) {
    int protocol;
    uint64_t cookie = 0;
    if (fd < 0 || fd >= FDS_LIMIT || config()->quiet)
        return NULL;
    int error = kernel->get_option(fd, SOL_SOCKET, SO_PROTOCOL, &protocol);
    if (error == -ENOTSOCK)
        fds_set(fd, FDS_NO_SOCKET);
    if (error == -EBADF && fd == STDERR_FILENO)
        log_stderr_is(false);
    if (error)
        return NULL;
    if (protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP) {
        fds_set(fd, FDS_OTHER);
        return NULL;
    }
    struct conn *c = NULL;
    if (kernel->cookie(fd, &cookie) == 0 && cookie)
        c = cookies_find(cookie);
    if (c) {
        shim_shares(c, fd);
        return c;
    }
    bool first;
    c = fds_meet(fd, &first);
    if (!first)
        return c;
    cookies_note(c, cookie);
    c->policy.unsure = true;
    c->policy.dark = hold_is_stdio(fd);
    c->policy.no_more = c->mptcp = protocol == IPPROTO_MPTCP;
    return c;
}

/* Ask the filters, once the connection has two ends. */
static void judge(struct conn *c) {
    const struct config *now = config();
    struct sockaddr_storage peer = {0}, local = {0};
    struct segment_address far = {0}, near = {0};
    if (now->port_count == 0 && now->peer_count == 0) {
        c->judged = true;
        c->epoch = 0; /* a sweep may have adopted it unjudged, that is, left alone */
        return;
    }
    if (now->quiet || kernel->name(c->fd, true, &peer) != 0 || !address_of(&peer, &far))
        return; /* not connected yet */
    if (c->origin != ORIGIN_SOCKET && kernel->name(c->fd, false, &local) == 0)
        address_of(&local, &near);
    uint16_t service = c->origin == ORIGIN_ACCEPTED ? near.port : far.port;
    c->judged = true;
    c->filtered = !config_includes(now, service, far.family, far.address);
    if (c->filtered && c->origin == ORIGIN_FOREIGN)
        c->filtered = !config_includes(now, near.port, far.family, far.address);
    c->epoch = 0;
}

/* False: it cannot be told yet, because the connection is not connected. */
static bool mode_of(struct conn *c, const struct config *now, enum mode *mode) {
    bool settled = true;
    *mode = now->mode;
    if (UNLIKELY(evidence_wanted(now) && !c->evidence && c->origin == ORIGIN_FOREIGN))
        tally_first_sight(c);
    if (UNLIKELY(c->evidence != NULL))
        settled = tally_mode(c, now, mode);
    if (c->filtered || !c->judged || now->killed || now->quiet)
        *mode = MODE_OFF;
    return settled;
}

void shim_adopt(struct conn *c) {
    const struct config *now = config();
    enum mode before = (enum mode)c->policy.mode;
    enum mode mode;
    c->epoch = mode_of(c, now, &mode) ? now->epoch : 0;
    c->policy.mode = (uint8_t)mode;
    if (now->quiet)
        return; /* what is still held is process_filters()'s to push */
    if (c->policy.mode != before)
        hold_push(c, PUSH_MODE);
    if (mode_cures(before) && !mode_cures((enum mode)c->policy.mode))
        hold_restore(c);
    if (mode_cures((enum mode)c->policy.mode) && c->policy.dark)
        hold_darken(c);
}

void shim_refresh(struct conn *c) {
    if (UNLIKELY(!c->judged))
        judge(c);
    if (UNLIKELY(c->epoch != config()->epoch))
        shim_adopt(c);
    if (UNLIKELY(c->doubt != LOAD(&doubt_epoch)))
        hold_doubt(c);
}

void shim_shares(struct conn *c, int fd) {
    fds_share(c, fd);
    if (UNLIKELY(hold_is_stdio(fd)) && !c->policy.dark) {
        shim_refresh(c);
        hold_darken(c);
    }
}

struct conn *shim_find(int fd) {
    struct conn *c = fds_lock(fd);
    if (UNLIKELY(!c)) {
        if (fds_word(fd) != FDS_UNKNOWN)
            return NULL;
        c = classify(fd);
        if (!c)
            return NULL;
    }
    if (UNLIKELY(!c->judged || c->epoch != config()->epoch || c->doubt != LOAD(&doubt_epoch)))
        shim_refresh(c);
    return c;
}

/* Statistics: a message may begin here. */
struct conn *shim_tally(struct conn *c, int fd) {
    if (UNLIKELY(tally_pending())) {
        conn_unlock(c);
        tally_catch_up();
        c = shim_find(fd);
    }
    if (c && c->evidence)
        tally_write_begins(c);
    return c;
}

static void sweep_one(struct conn *c, void *cause) {
    hold_push(c, *(enum push_cause *)cause);
    if (c->epoch != config()->epoch)
        shim_adopt(c);
}

void shim_sweep(enum push_cause cause) {
    fds_each(sweep_one, &cause);
}

/* ---- reads ----------------------------------------------------------- */

/* A descriptor that is not the connection of the open turn: can a read or write
 * of it block?  Only regular files cannot; asked once a descriptor, and only
 * where it matters: something is held, or would be if the turn stayed whole. */
static bool may_block(int fd) {
    uintptr_t word = fds_word(fd);
    if (word == FDS_FILE)
        return false;
    if (word > FDS_LAST_TAG || word == FDS_OTHER || config()->quiet || !hold_could_go_on())
        return true;
    if (word == FDS_UNKNOWN) {
        struct conn *c = shim_find(fd);
        if (c)
            conn_unlock(c);
        if (fds_word(fd) != FDS_NO_SOCKET)
            return true;
    }
    bool file = kernel->is_file(fd) > 0;
    fds_set(fd, file ? FDS_FILE : FDS_OTHER);
    return !file;
}

struct call shim_read_begins(int fd, bool dont_wait) {
    if (UNLIKELY(!ours()))
        return (struct call){0};
    uintptr_t word = fds_word(fd);
    struct conn *turn = LOAD(&self.turn);
    if (turn && !dont_wait && ((uintptr_t)turn == word ? !hold_leaves_turn(turn) : may_block(fd)))
        hold_end_turn_slow(PUSH_READ);
    struct conn *c = fds_conn(word);
    if (!c)
        return (struct call){0};
    if (UNLIKELY(!self.ends_watched))
        hold_watch_reader();
    return (struct call){c, LOAD(&c->births)};
}

/* Lock held. */
static inline void end_left_turn(struct conn *c) {
    if (c->turn_owner == &self && self.turn != c)
        hold_turn_teaches(c);
}

static inline void input_came(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    bool first = !c->policy.input_ever;
    if (UNLIKELY(first) && call_is_stale(call))
        return;
    policy_input(&c->policy, (size_t)got, asked);
    if (UNLIKELY(first))
        kin_teach(c);
}

/* Lock held; released. */
static __attribute__((noinline)) ssize_t read_is_told(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    if (c->epoch != config()->epoch)
        shim_refresh(c);
    evidence_input(c);
    tally_input(c);
    input_came(call, got, asked);
    conn_unlock(c);
    if (UNLIKELY(tally_pending()))
        tally_catch_up();
    return got;
}

/* A read that brought nothing: the end, an error of its own, or one that we have kept. */
static __attribute__((noinline)) ssize_t read_got_nothing(struct call call, ssize_t got) {
    struct conn *c = call.conn;
    if (UNLIKELY(LOAD(&c->counts.reads) == 0) && conn_trylock(c)) {
        c->tried = true;
        conn_unlock(c);
    }
    if (LOAD(&c->turn_end) == TURN_LEFT) {
        conn_lock(c);
        end_left_turn(c);
        conn_unlock(c);
    }
    if (UNLIKELY(LOAD(&c->kept_error))) {
        conn_lock(c);
        bool ours_to_tell = c->kept_error != EPIPE && !call_is_stale(call); /* EPIPE is a writer's */
        int error = ours_to_tell ? shim_take_error(c) : 0;
        conn_unlock(c);
        if (error) {
            errno = error;
            return -1;
        }
    } else if (UNLIKELY(got == 0 && LOAD(&c->evidence) != NULL)) {
        int saved = errno;
        conn_lock(c);
        evidence_ends(c, c->fd);
        conn_unlock(c);
        errno = saved;
    } else if (got < 0 && errno != EAGAIN && errno != EINTR) {
        int error = errno;
        conn_lock(c);
        if (!call_is_stale(call))
            policy_met(&c->policy, error); /* the next write must not seem to succeed */
        conn_unlock(c);
        errno = error;
    }
    return got;
}

ssize_t shim_read_ends(struct call call, ssize_t got, size_t asked) {
    struct conn *c = call.conn;
    if (!c)
        return got;
    if (UNLIKELY(got <= 0))
        return read_got_nothing(call, got);
    conn_lock(c);
    c->counts.reads++;
    end_left_turn(c);
    if (UNLIKELY(c->evidence != NULL))
        return read_is_told(call, got, asked);
    input_came(call, got, asked);
    conn_unlock(c);
    return got;
}

void shim_other_write(int fd) {
    if (LIKELY(self.turn == NULL) || !ours())
        return;
    if (hold_gathers() || may_block(fd))
        hold_end_turn(PUSH_WRITE);
}

/* ---- descriptors inside messages ------------------------------------- */

/* Of a message that can be read, whatever its pointers and lengths say. */
static void each_passed(const struct msghdr *message, void (*visit)(int fd)) {
    struct msghdr m = *message;
    if (!m.msg_control || !readable(m.msg_control, m.msg_controllen))
        return;
    const char *end = (const char *)m.msg_control + m.msg_controllen;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
        if (h->cmsg_len > (size_t)(end - (const char *)h))
            return; /* the kernel refuses it */
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS ||
            h->cmsg_len < CMSG_LEN(sizeof(int)))
            continue;
        size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
            visit(fd);
        }
    }
}

static bool any_passed; /* a descriptor that arrives may be one that left here */

static void leaves(int fd) {
    struct conn *c = fds_lock(fd);
    if (!c)
        return;
    hold_push(c, PUSH_PROCESS);
    if (!config()->quiet) {
        hold_restore(c);
        c->passed = true;
        __atomic_add_fetch(&doubt_epoch, 1, __ATOMIC_RELAXED);
        STORE(&any_passed, true);
    }
    conn_unlock(c);
}

void shim_descriptors_leave(const struct msghdr *message) {
    if (readable(message, sizeof(*message)) && message->msg_controllen && ours())
        each_passed(message, leaves);
}

ssize_t shim_write_message(const struct out *o) {
    bool acted = LOAD(&hold_acted);
    if (UNLIKELY(acted))
        shim_descriptors_leave(o->message);
    ssize_t sent = shim_write(o);
    if (!acted && sent >= 0)
        shim_descriptors_leave(o->message);
    return sent;
}

/* What was passed may come back to us under another number: known by its cookie. */
static void ask_cookie(struct conn *c, void *unused) {
    uint64_t cookie;
    (void)unused;
    if (c->passed && !c->cookie && kernel->cookie(c->fd, &cookie) == 0)
        cookies_note(c, cookie);
}

static void arrives(int fd) {
    fds_forget(fd);
    if (!LOAD(&any_passed))
        return;
    if (!config()->quiet)
        fds_each(ask_cookie, NULL);
    struct conn *c = shim_find(fd); /* while what left is still known here */
    if (c)
        conn_unlock(c);
}

void shim_descriptors_arrive(const struct msghdr *message) {
    if (message->msg_controllen && ours())
        each_passed(message, arrives);
}
