/* SPDX-License-Identifier: MIT
 *
 * A turn, from the first write of a thread to its next wait, and the push that ends a hold.
 *
 * The write road joins a turn (hold_join_turn) and may leave bytes held.  Each exported call that may
 * block runs hold_end_turn() first: it pushes what this thread's turn holds and lets policy learn how many
 * writes the turn had.  The push of bytes that the kernel holds is TCP_NODELAY=1, which sends them, and of
 * buffered bytes it is a send (coalesce_buffer.c).  If the window ends the hold first (window.c), the turn
 * goes on without it.
 *
 * The turn belongs to its thread (this thread's `self.turn`, c->turn_owner); another thread that writes
 * takes it over.  A turn that holds nothing ends without the lock (hold_end_turn_unlocked).
 *
 * Then, in this order: the age of a hold where no thread keeps a window (the habit), questions to policy
 * with the facts that the kernel must tell (decide_*), the end of a connection, a change of the configuration
 * for all of them (sweep), and the end of a thread.
 */
#include "turn.h"

#include <linux/tcp.h>
#include <pthread.h>

#include "fds.h"
#include "reentry.h"
#include "stats_file.h"

enum {
    ROOM_TRIES = 10,
    ROOM_WAIT_MS = 100,
    ALL_NS = 1000000000, /* all connections together */
    ALL_TRIES = 100,     /* ... where the clock stands still */
    ALL_WAIT_MS = 10,
    WAIT_AT_ONCE_NS = 300000, /* a shorter wait means that the answer had already arrived */
};

bool hold_acted;

/* ---- the push -------------------------------------------------------- */

/* The value of an option; 0 if the kernel does not return it. */
static int option(int fd, int level, int name) {
    int value = 0;
    kernel->get_option(fd, level, name, &value);
    return value;
}

/* The library has set no option yet, so the kernel's values are the application's. */
static void ask_options(struct conn *c) {
    struct policy *p = &c->policy;
    p->app_nodelay = p->nodelay = option(c->fd, IPPROTO_TCP, TCP_NODELAY) != 0;
    bool cork = option(c->fd, IPPROTO_TCP, TCP_CORK) != 0;
    /* the first bytes of the name "tls": with kTLS MSG_MORE leaves a record open, and a key is for the bytes
     * that follow it */
    p->never_hold |= option(c->fd, IPPROTO_TCP, TCP_ULP) != 0;
    if (p->app_cork && !cork && p->pending && !p->app_more)
        policy_pushed(p); /* the application has cleared it: the corked bytes have left as a unit */
    p->app_cork = cork;
    p->had_option |= p->app_nodelay || p->app_cork;
    p->never_hold |= hold_tells_apart(option(c->fd, SOL_SOCKET, SO_TIMESTAMPING)) ||
                     hold_tells_apart(option(c->fd, SOL_SOCKET, SO_ZEROCOPY)) ||
                     hold_tells_apart(option(c->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT));
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
    c->policy.mss = mss > 0 ? (uint32_t)mss : SURELY_SMALL;
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
    STORE_RELEASE(&c->held, false); /* after taking the lock: hold_end_turn_unlocked() relies on this order */
    hold_check_age(c, false);
    int error = hold_set_nodelay(c, c->fd);
    if (is_not_tcp(error)) {
        struct msghdr nothing = {0}; /* ends a datagram that MSG_MORE left open: udp(7) */
        kernel->send(c->fd, &nothing, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else if (error && error != -EBADF) {
        c->policy.never_hold = true; /* a BPF program or an LSM forbids it: only the kernel ends this hold */
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

/* Returns the descriptor of a connection whose bytes have no room and are still waited for, or -1. */
static int push_buffers(bool last, bool over) {
    int waits = -1;
    FDS_EACH(c) {
        if (buffer_length(c))
            hold_push(c, PUSH_PROCESS);
        if (buffer_length(c) == 0)
            continue;
        if (last || !c->waited)
            waits = c->fd;
        c->waited |= over;
    }
    return waits;
}

void hold_push_buffers(bool last) {
    if (!config()->buffers)
        return;
    const uint64_t until = clock_now() + ALL_NS;
    int left = last || !config()->no_syscalls ? ALL_TRIES : 0;
    for (bool over = false; !over; left--) {
        over = left == 0 || clock_now() > until;
        int fd = push_buffers(last, over);
        if (fd < 0)
            return;
        if (!over)
            kernel->writable(fd, ALL_WAIT_MS);
    }
}

void hold_window_ends(struct conn *c) {
    /* before decide_release() sets an option; where that comes no more, buffer_flush() looks */
    if (buffer_length(c) && !c->draining && !c->flush_blocked && !buffer_is_at(c, c->fd)) {
        buffer_free(c);
        STORE(&c->held, false);
        return;
    }
    hold_push(c, PUSH_WINDOW);
    policy_window_ended(&c->policy, false);
}

/* ---- turns ----------------------------------------------------------- */

/* A new turn continues the message: the turn before was left by TURN_ENDED_UNLOCKED, or belongs
 * to another thread. */
void hold_turn_taken_over(struct conn *c) {
    bool left = LOAD(&c->turn_end) == TURN_ENDED_UNLOCKED;
    if (!left || c->turn_owner != &self)
        c->policy.quick_turns = c->policy.single_turns = 0;
    if (left)
        hold_finish_turn(c);
}

/* Only the second turn of a message shows whether the message continued at once. */
bool hold_wait_was_quick(struct conn *c) {
    bool quick = c->policy.turns == 1 && clock_now() - c->wait_began < WAIT_AT_ONCE_NS;
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

/* What c holds back leaves at the unlock, or at this thread's next call. */
static void push_at_unlock(struct conn *c) {
    if (LOAD(&c->held) || LOAD(&c->buffer))
        reentry_set_aside(c, ASIDE_PUSH, 0);
}

void hold_give_up_other(const struct conn *c) {
    struct conn *other = self.turn;
    if (UNLIKELY(other && other != c))
        push_at_unlock(other);
}

void hold_resume_turn(struct conn *c) {
    hold_give_up_other(c);
    self.turn = c;
    STORE(&c->turn_owner, &self);
    STORE(&c->turn_end, TURN_ENDS);
}

/* Returns the connection of the open turn, or NULL.  It is read once, because a signal
 * handler may end the turn between two reads. */
static struct conn *turn_now(void) {
    return gate_enter() ? LOAD(&self.turn) : NULL;
}

/* The same, locked.  NULL also if the lock cannot be had: then the turn is over for this thread, and its
 * bytes leave at the unlock. */
static struct conn *lock_turn(void) {
    struct conn *c = turn_now();
    if (!c || LIKELY(conn_lock(c)))
        return c;
    self.turn = NULL;
    push_at_unlock(c);
    return NULL;
}

/* Lock held. */
static void end_turn(struct conn *c, enum push_cause cause) {
    struct policy *p = &c->policy;
    if (self.turn == c)
        self.turn = NULL;
    hold_push(c, cause);
    if (c->turn_owner != &self)
        return; /* another thread has continued the message */
    if (policy_learns_habit(p) && window_windowless(window_state()))
        policy_habit_turn(p, clock_now() - c->habit_ns);
    hold_finish_turn(c);
    if (cause == PUSH_WAIT && p->nodelay && !p->app_nodelay)
        c->wait_began = clock_now();
    else if (UNLIKELY(c->times_read == TIMES_TURN_END) && p->message_bytes && !self.read_began &&
             !clock_is_call())
        self.read_began = clock_now();
}

void hold_end_turn_slow(enum push_cause cause) {
    struct conn *c = lock_turn();
    if (!c)
        return;
    end_turn(c, cause);
    conn_unlock(c);
}

bool hold_before_poll(bool only_writable) {
    struct conn *c = lock_turn();
    if (!c)
        return false;
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
                 (p->mode == MODE_AUTO && p->nodelay && !policy_app_decides(p, config()->override));
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

void hold_wait_was_timed(void) {
    enum { UNTIL_READ_NS = 1000000 };
    uint64_t now = clock_now();
    bool at_once = (int64_t)(now - self.read_began) < AT_ONCE_NS;
    self.read_began = at_once ? now + UNTIL_READ_NS : 0; /* a read until then is at once, too */
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

/* ---- the age of a hold where no thread keeps a window ------------------- */

enum {
    KERNEL_ENDS_NS = 200000000, /* the kernel ends a hold after this time at the earliest */
    MOST_LOST = 2,              /* times that others had the processor during a hold */
};

void hold_learn_piece(struct conn *c) {
    if (!window_windowless(window_state()))
        return;
    uint64_t now = clock_now();
    policy_habit_piece(&c->policy, now - c->habit_ns);
    c->habit_ns = now;
    STORE(&c->turn_end, TURN_ENDS); /* the habit needs the end of the turn, too */
}

/* Since the hold began, the thread lost its processor to others once or twice, and has neither waited nor
 * computed for longer than a hold may last.  A program that waits by sched_yield(2) loses it more often. */
static bool was_preempted(const struct conn *c) {
    const struct kernel_usage *then = &self.hold.used;
    struct kernel_usage now;
    return self.hold.of == c && self.hold.since == c->habit_ns && !config()->no_syscalls &&
           kernel->usage(&now) == 0 && now.waits == then->waits && now.lost - then->lost - 1 < MOST_LOST &&
           now.cpu_ns - then->cpu_ns <= HOLD_LATE_NS;
}

/* A hold was late.  Where a write joins the first one of an endpoint, from then on the library can tell a
 * program that computes from a busy machine. */
static void hold_was_late(struct conn *c, bool joined) {
    if (joined && was_preempted(c))
        return;
    struct endpoint_late *late = &endpoint_late[c->endpoint];
    if (joined && c->endpoint && !LOAD(&late->watched) && !LOAD(&late->nodelay_only)) {
        STORE(&late->watched, true);
        c->policy.quick_turns = 0;
        c->habit_ns = clock_coarse(); /* this hold does not count again */
    } else {
        if (c->endpoint)
            STORE(&late->nodelay_only, true);
        c->policy.nodelay_only = true;
    }
}

void hold_check_age(struct conn *c, bool joined) {
    if (!window_windowless(window_state()))
        return;
    uint64_t now = clock_coarse(), age = now - c->habit_ns;
    if (LIKELY(c->policy.mode == MODE_AUTO)) {
        if (UNLIKELY(age > HOLD_LATE_NS) && age > clock_coarse_surely(HOLD_LATE_NS))
            hold_was_late(c, joined);
    } else if (c->policy.mode == MODE_CORK) {
        if (age > KERNEL_ENDS_NS)
            policy_window_ended(&c->policy, true);
        c->habit_ns = now;
    }
}

/* ---- the decision about a write ----------------------------------------- */

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

/* Never 0, which is no time (conn.h). */
static uint16_t now_ms(void) {
    return (uint16_t)(clock_coarse() / 1000000 | 1);
}

/* Bytes before it are unacknowledged, or it is held already. */
static void write_waits(struct conn *c, int fd) {
    if (!c->policy.crosses) {
        c->crossed_ms = now_ms();
        c->crossed_input = false;
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
    return (!p->nodelay || p->nodelay_uncertain) && !policy_app_decides(p, config()->override) &&
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
 * by a tick of the kernel, 1 to 10 ms.  Of several writes since then the kernel tells the last one's time.
 * Input that comes sooner may be older than the write: the next one tells. */
void decide_crossing_answered(struct conn *c) {
    enum { RTO_LEAST_MS = 200 };
    struct kernel_tcp_info info;
    int age = (uint16_t)(now_ms() - c->crossed_ms);
    bool last = c->policy.units == !c->crossed_input; /* no write came after it */
    c->crossed_input = true;
    if (age >= PROOF_LEAST_MS || !last)
        c->crossed_ms = 0;
    if (age < PROOF_LEAST_MS || !last || !may_wait(c, &info, c->fd) || info.last_sent_ms > (uint32_t)age)
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

/* ---- the end of a connection -------------------------------------------- */

/* As the kernel's own wait, it ends at a signal.  CLOSE_LINGERS: fd leads here no more. */
static enum close_lingers wait_for_room(struct conn *c, int fd, int seconds) {
    uint16_t generation = c->generation;
    uint64_t until = clock_now() + (uint64_t)seconds * 1000000000;
    while (buffer_length(c) && !c->draining) {
        uint64_t before = clock_now();
        if (before >= until)
            break;
        uint64_t left = (until - before) / 1000000 + 1;
        int slice = left < ROOM_WAIT_MS ? (int)left : ROOM_WAIT_MS;
        conn_unlock(c);
        bool room = kernel->writable(fd, slice);
        bool interrupted = !room && clock_now() - before < (uint64_t)slice * 1000000;
        if (!conn_lock(c))
            return CLOSE_UNLOCKED;
        if (c->generation != generation || fds_word(fd) != (uintptr_t)c)
            return CLOSE_LINGERS;
        hold_push(c, PUSH_CLOSE);
        if (interrupted)
            break;
    }
    return CLOSE_ENDS;
}

/* After the last close nobody reads the option back.  A buffer that has grown beyond what the option may set
 * gets smaller, and the rest lingers as before. */
static bool kernel_takes_the_rest(struct conn *c, int fd) {
    if (c->draining || conn_is_shared(c) || config()->no_syscalls)
        return false;
    int room = option(fd, SOL_SOCKET, SO_SNDBUF); /* the kernel doubles what is set: socket(7) */
    kernel->set_option(fd, SOL_SOCKET, SO_SNDBUF, room + (int)buffer_length(c));
    hold_push(c, PUSH_CLOSE);
    return buffer_length(c) == 0;
}

enum close_lingers close_lingers(struct conn *c, int fd) {
    int seconds = kernel->linger(fd);
    if (seconds == 0 && !c->draining && !conn_is_shared(c)) {
        buffer_free(c); /* the close resets the connection: what was not sent is dropped */
        return CLOSE_ENDS;
    }
    if (kernel_takes_the_rest(c, fd))
        return CLOSE_ENDS;
    if (seconds > 0) {
        enum close_lingers end = wait_for_room(c, fd, seconds);
        if (end != CLOSE_ENDS || buffer_length(c) == 0)
            return end;
        kernel->end_linger(fd);
    }
    int own = kernel->dup_above(fd, CLOSE_LOWEST);
    if (own < 0)
        own = kernel->dup_above(fd, 0);
    if (own < 0 || !fds_set(own, (uintptr_t)c)) {
        if (own >= 0)
            kernel->close(own);
        return hold_push_all(c, PUSH_CLOSE) ? CLOSE_ENDS : CLOSE_UNLOCKED;
    }
    fds_set(fd, FDS_UNKNOWN);
    c->fd = own;
    STORE(&c->lingering, true);
    if (c->draining)
        buffer_wake_writers(); /* they go on with descriptors of their own */
    window_watch(c);
    return CLOSE_LINGERS;
}

void close_ends(struct conn *c, int fd) {
    stats_connection_ends(c, fd);
    fds_release(c);
}

void close_linger_ends(struct conn *c) {
    int fd = c->fd;
    fds_unlink(c, fd);
    STORE(&c->lingering, false);
    if (c->refs > 0) /* a handler has closed one number while the other was made */
        conn_unlock(c);
    else
        close_ends(c, fd);
    kernel->close(fd);
}

/* ---- a change of the configuration ---------------------------------------
 *
 * It reaches each connection at its next call (sweep_adopt), or by sweep() all at once.
 */

/* False: the mode is not certain yet, because the socket is not connected. */
static bool mode_of(struct conn *c, const struct config *now, enum mode *mode) {
    bool settled = true;
    *mode = now->mode;
    if (UNLIKELY(evidence_wanted(now) && !c->evidence && c->origin == ORIGIN_FOREIGN))
        tally_first_sight(c);
    if (UNLIKELY(c->evidence != NULL))
        settled = tally_mode(c, now, mode);
    if (c->filtered || !c->filters_applied || now->killed || now->no_syscalls)
        *mode = MODE_OFF;
    return settled;
}

void sweep_adopt(struct conn *c) {
    const struct config *now = config();
    enum mode before = (enum mode)c->policy.mode;
    enum mode mode;
    bool settled = mode_of(c, now, &mode) && c->filters_applied;
    STORE(&c->policy.mode, (uint8_t)mode);
    STORE_RELEASE(&c->epoch, settled ? now->epoch : 0); /* whoever sees it sees the mode, too */
    if (now->no_syscalls)
        return; /* process_filters() pushes the bytes that are still held */
    if (c->policy.mode != before)
        hold_push(c, PUSH_MODE);
    if (mode_cures(before) && !mode_cures((enum mode)c->policy.mode))
        hold_restore(c);
    if (mode_cures((enum mode)c->policy.mode) && c->policy.untracked_io)
        hold_untrack(c);
}

void sweep(enum push_cause cause) {
    FDS_WALK(c, .all = cause == PUSH_MODE) {
        hold_push(c, cause);
        if (c->epoch != config()->epoch)
            sweep_adopt(c);
    }
}

void sweep_told(void) {
    uint32_t sequence;
    if (!control_look(&sequence))
        return;
    sweep(PUSH_MODE);
    control_is_in_force(sequence);
}

/* ---- the end of a thread ------------------------------------------------ */

/* glibc keeps the values of these in the thread itself.  For a later key it allocates, perhaps in a signal
 * handler that has interrupted malloc(3). */
enum { KEYS_IN_THREAD = 32 };

static pthread_key_t ends_key;
static uint32_t ends_state; /* of ends_key: 0 none, 1 in creation, 2 ready, 3 impossible */

static void thread_ends(void *unused) {
    (void)unused;
    self.ends_watched = false;
    reentry_abandon(); /* cancelled while sending buffered bytes, or inside a handler */
    hold_thread_ends();
    struct conn *c = self.releasing;
    self.releasing = NULL;
    if (c && conn_lock(c)) { /* cancelled before the write that would have pushed the held bytes */
        STORE(&c->held, true);
        hold_push(c, PUSH_PROCESS);
        conn_unlock(c);
    }
    buffer_thread_ends();
}

void hold_watches_ends(void) {
    uint32_t none = 0;
    if (!REPLACE(&ends_state, &none, 1, __ATOMIC_ACQ_REL))
        return;
    bool made = pthread_key_create(&ends_key, thread_ends) == 0;
    bool far = made && ends_key >= KEYS_IN_THREAD;
    if (far)
        pthread_key_delete(ends_key);
    STORE_RELEASE(&ends_state, made && !far ? 2 : 3);
}

void thread_may_lock(void) {
    if (UNLIKELY(self.lock_bits == 0))
        lock_bits_make();
    hold_watches_ends();
    if (LOAD_ACQUIRE(&ends_state) == 2)
        self.ends_watched = pthread_setspecific(ends_key, &self) == 0;
}

void hold_thread_ends(void) {
    hold_end_turn(PUSH_PROCESS);
    window_thread_ends();
}
