/* SPDX-License-Identifier: MIT */
#include "hold.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include "clock.h"
#include "config.h"
#include "coalesce_buffer.h"
#include "decide.h"
#include "kernel.h"
#include "reentry.h"
#include "ticker.h"

enum {
    FALLBACK_MSS = 536, /* RFC 9293, 3.7.1 */
    ROOM_TRIES = 10,
    ROOM_WAIT_MS = 100,
    AT_ONCE_NS = 300000, /* a shorter wait means that the answer had already arrived */
};

bool hold_acted;

/* ---- the push -------------------------------------------------------- */

/* The value of an option; 0 if the kernel does not return it. */
static int option(int fd, int level, int name) {
    int value = 0;
    kernel->get_option(fd, level, name, &value);
    return value;
}

static bool has_one_that_tells_apart(int fd) {
    return hold_tells_apart(option(fd, SOL_SOCKET, SO_TIMESTAMPING)) ||
           hold_tells_apart(option(fd, SOL_SOCKET, SO_ZEROCOPY)) ||
           hold_tells_apart(option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT));
}

/* The library has set no option yet, so the kernel's values are the application's. */
static void ask_options(struct conn *c) {
    struct policy *p = &c->policy;
    p->app_nodelay = p->nodelay = option(c->fd, IPPROTO_TCP, TCP_NODELAY) != 0;
    bool cork = option(c->fd, IPPROTO_TCP, TCP_CORK) != 0;
    /* the first bytes of the name "tls": with kTLS MSG_MORE leaves a record open, and a key is for the bytes
     * that follow it */
    bool ulp = option(c->fd, IPPROTO_TCP, TCP_ULP) != 0;
    p->no_more |= ulp;
    p->never_hold |= ulp;
    if (p->app_cork && !cork && p->pending && !p->app_more)
        policy_pushed(p); /* the application has cleared it: the corked bytes have left as a unit */
    p->app_cork = cork;
    p->had_option |= p->app_nodelay || p->app_cork;
    p->never_hold |= has_one_that_tells_apart(c->fd);
    p->unsure = false;
}

/* True: the descriptor was closed unseen, and its number is now no TCP socket. */
static bool is_not_tcp(int error) {
    return error == -ENOPROTOOPT || error == -EOPNOTSUPP;
}

int hold_set_nodelay(struct conn *c, int fd) {
    struct policy *p = &c->policy;
    if (UNLIKELY(p->unsure))
        ask_options(c);
    if (UNLIKELY(!LOAD(&hold_acted))) /* each push comes here; a store takes the line from other processors */
        STORE(&hold_acted, true);
    int error = kernel->set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (is_not_tcp(error)) {
        p->never_hold = p->untracked_io = true;
        p->mode = MODE_OFF;
    }
    p->nodelay = error == 0;
    return error;
}

uint32_t hold_restores;

void hold_restore(struct conn *c) {
    struct policy *p = &c->policy;
    if (p->nodelay == p->app_nodelay)
        return;
    __atomic_add_fetch(&hold_restores, 1, __ATOMIC_RELAXED);
    kernel->set_option(c->fd, IPPROTO_TCP, TCP_NODELAY, p->app_nodelay);
    p->nodelay = p->app_nodelay;
}

/* The value is uncertain even if the library has not set it yet: a child that has set TCP_NODELAY may
 * restore it at its end, after this process has set it.  A `shared` connection is excepted until then:
 * one inherited from a parent would otherwise be uncertain from its start. */
void hold_nodelay_uncertain(struct conn *c) {
    c->nodelay_checked = LOAD(&nodelay_epoch);
    if (!c->policy.app_nodelay && (c->policy.nodelay || !c->shared))
        c->policy.nodelay_uncertain = true;
}

void hold_ask_facts(struct conn *c) {
    if (c->policy.unsure)
        ask_options(c);
    if (c->policy.mss)
        return;
    int mss = option(c->fd, IPPROTO_TCP, TCP_MAXSEG);
    c->policy.mss = mss > 0 ? (uint32_t)mss : FALLBACK_MSS;
}

/* True: c is a listener.  Accepted sockets inherit its options, so the library must not set them.  A
 * descriptor whose creation the library did not see may be one. */
static bool listens(struct conn *c) {
    if (c->origin == ORIGIN_FOREIGN && !c->listener && !c->policy.established)
        c->listener = option(c->fd, SOL_SOCKET, SO_ACCEPTCONN) != 0;
    return c->listener;
}

void hold_untrack(struct conn *c) {
    struct policy *p = &c->policy;
    hold_push(c, PUSH_UNTRACKED);
    p->untracked_io = true;
    if (!mode_cures((enum mode)p->mode) || listens(c))
        return;
    if (p->unsure)
        ask_options(c);
    if (!p->nodelay && !p->app_cork)
        hold_set_nodelay(c, c->fd);
}

/* The kernel has sent more bytes than the library saw: the connection has untracked
 * I/O (stdio, a raw system call).  The check runs after pushes 1, 2, 4, 8 … */
static void probe_untracked(struct conn *c, uint32_t pushes) {
    struct kernel_tcp_info info;
    if (c->origin == ORIGIN_FOREIGN || c->policy.untracked_io || (pushes & (pushes - 1)) != 0 ||
        kernel->tcp_info(c->fd, &info) != 0)
        return;
    if (info.bytes_sent + info.bytes_queued > LOAD(&c->counts.bytes))
        c->policy.untracked_io = true;
}

/* Pushes the bytes that the kernel holds. */
static __attribute__((noinline)) void push_held(struct conn *c, enum push_cause cause) {
    STORE_RELEASE(&c->held, false); /* after taking the lock: hold_leaves_turn() relies on this order */
    hold_check_age(c, false);
    if (is_not_tcp(hold_set_nodelay(c, c->fd))) {
        struct msghdr nothing = {0}; /* ends a datagram that MSG_MORE left open: udp(7) */
        kernel->send(c->fd, &nothing, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    policy_pushed(&c->policy);
    c->counts.pushes[cause]++;
    if (cause != PUSH_WINDOW && c->policy.mode == MODE_AUTO)
        c->counts.mispredictions++;
    uint32_t pushes = 0;
    for (int i = 0; i < PUSH_CAUSES; i++)
        pushes += c->counts.pushes[i];
    if (c->policy.mode != MODE_AUTO || pushes > 1)
        probe_untracked(c, pushes);
}

void hold_push(struct conn *c, enum push_cause cause) {
    if (c->held)
        push_held(c, cause);
    size_t waiting = buffer_length(c);
    if (waiting == 0 || c->draining)
        return;
    if (UNLIKELY(c->flush_blocked)) { /* a push without room in the kernel; it was counted then */
        c->flush_blocked = !buffer_flush(c, 0);
        return;
    }
    decide_release(c, waiting);
    c->counts.pushes[cause]++;
    if (UNLIKELY(!buffer_flush(c, 0))) {
        c->flush_blocked = true;
        policy_no_room(&c->policy);
    }
}

bool hold_push_all(struct conn *c, enum push_cause cause) {
    hold_push(c, cause);
    for (int i = 0; i < ROOM_TRIES && buffer_length(c) && !config()->no_syscalls; i++) {
        int fd = c->fd;
        conn_unlock(c);
        kernel->writable(fd, ROOM_WAIT_MS);
        if (!conn_lock(c))
            return false;
        hold_push(c, cause);
    }
    return true;
}

void hold_window_ends(struct conn *c) {
    if (buffer_length(c) && !c->draining && !buffer_is_at(c, c->fd)) {
        buffer_free(c);
        STORE(&c->held, false);
        return;
    }
    hold_push(c, PUSH_WINDOW);
    policy_window_ended(&c->policy, false);
}

/* ---- turns ----------------------------------------------------------- */

/* A new turn continues the message: the turn before was left by TURN_LEFT, or belongs
 * to another thread. */
void hold_turn_taken_over(struct conn *c) {
    bool left = LOAD(&c->turn_end) == TURN_LEFT;
    if (!left || c->turn_owner != &self)
        c->policy.quick_turns = c->policy.single_turns = 0;
    if (left)
        hold_finish_turn(c);
}

/* Only the second turn of a message shows whether the message continued at once. */
bool hold_wait_was_quick(struct conn *c) {
    bool quick = c->policy.turns == 1 && clock_now() - c->wait_began < AT_ONCE_NS;
    c->wait_began = 0;
    return quick;
}

void hold_two_write(struct conn *c) {
    if (c->writer == 0) {
        c->writer = (uint16_t)thread_tag();
        return;
    }
    STORE(&c->policy.never_buffer, true);
    hold_push(c, PUSH_WRITE);
}

void hold_resume_turn(struct conn *c) {
    self.turn = c;
    STORE(&c->turn_owner, &self);
    STORE(&c->turn_end, TURN_ENDS);
}

/* Returns the connection of the open turn, or NULL.  It is read once, because a signal
 * handler may end the turn between two reads. */
static struct conn *turn_now(void) {
    return ours() ? LOAD(&self.turn) : NULL;
}

/* The lock of c cannot be had: the turn is over for this thread, and its bytes leave at the unlock. */
static void leave_to_holder(struct conn *c) {
    self.turn = NULL;
    reentry_set_aside(c, ASIDE_PUSH, 0);
}

/* Lock held. */
static void end_turn(struct conn *c, enum push_cause cause) {
    struct policy *p = &c->policy;
    if (self.turn == c)
        self.turn = NULL;
    hold_push(c, cause);
    if (c->turn_owner != &self)
        return; /* another thread has continued the message */
    if (policy_learns_habit(p) && ticker_windowless(ticker_state()))
        policy_habit_turn(p, clock_now() - c->held_since);
    hold_finish_turn(c);
    if (cause == PUSH_WAIT && p->nodelay && !p->app_nodelay)
        c->wait_began = clock_now();
}

void hold_end_turn_slow(enum push_cause cause) {
    struct conn *c = turn_now();
    if (!c)
        return;
    bool locked = conn_lock(c);
    if (UNLIKELY(cause == PUSH_PROCESS) && locked && buffer_length(c))
        locked = hold_push_all(c, cause);
    if (UNLIKELY(!locked)) {
        leave_to_holder(c);
        return;
    }
    end_turn(c, cause);
    conn_unlock(c);
}

bool hold_before_poll(bool only_writable) {
    struct conn *c = turn_now();
    if (!c)
        return false;
    if (!conn_lock(c)) {
        leave_to_holder(c);
        return false;
    }
    bool holding = c->held || buffer_length(c) > 0;
    bool ask = mode_cures((enum mode)c->policy.mode) &&
               (policy_asks_first(&c->policy) || (only_writable && holding));
    if (!ask && !only_writable)
        end_turn(c, PUSH_WAIT);
    conn_unlock(c);
    return ask;
}

bool hold_could_go_on(void) {
    struct conn *c = turn_now();
    if (!c)
        return false;
    if (!conn_lock(c))
        return true; /* hold_end_turn_slow() gives up the turn */
    const struct policy *p = &c->policy;
    bool could = c->held || c->buffer ||
                 (p->mode == MODE_AUTO && p->nodelay && !policy_left_alone(p, config()->override));
    conn_unlock(c);
    return could;
}

void hold_asked(bool at_once) {
    struct conn *c = turn_now();
    if (!c || !conn_lock(c))
        return; /* a handler has ended the turn meanwhile */
    policy_asked(&c->policy, at_once);
    conn_unlock(c);
}

void hold_before_signal(void) {
    if (LIKELY(self.turn == NULL))
        return;
    struct conn *c = turn_now();
    if (!c || !LOAD(&c->buffer))
        return;
    if (!conn_lock(c)) {
        reentry_set_aside(c, ASIDE_PUSH, 0);
        return;
    }
    hold_push(c, PUSH_PROCESS);
    conn_unlock(c);
}
