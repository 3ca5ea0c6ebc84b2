/* SPDX-License-Identifier: MIT
 *
 * Finds the stalls of a connection, its own and its peer's.  stalls.c decides; this file gives it the facts.
 * System calls of our own: in observe at most two TCP_INFO for a message in which Nagle may hold bytes; one
 * for an input that came as late as a delayed acknowledgement; with UNSTALL_QUICKACK also the option.
 */
#include "evidence.h"

#include <linux/tcp.h>

#include "clock.h"
#include "stats_file.h"

/* Two small writes that are further apart than a delayed acknowledgement would not have stalled: the first
 * was acknowledged before the second. */
#define DELAYED_ACK_NS (LATE_DELAY_MS * UINT64_C(1000000))

void evidence_counts(const struct conn *c, uint64_t counts[COUNTED]) {
    counts[COUNT_BYTES] = LOAD(&c->counts.bytes);
    counts[COUNT_UNTRACKED] = c->policy.untracked_io;
    for (int i = 0; i < CONN_COUNTERS; i++)
        counts[COUNT_WRITES + i] = c->counts.counter[i];
    if (c->evidence)
        memcpy(&counts[COUNT_SUSPECTS], c->evidence->found, sizeof(c->evidence->found));
}

/* ---- our own stall ---------------------------------------------------- */

/* Asks the kernel.  False: no answer, or the bytes that an earlier look has found are still held. */
static bool looks(const struct evidence *e, int fd, struct kernel_tcp_info *now) {
    return !config()->no_syscalls && kernel->tcp_info(fd, now) == 0 &&
           !(e->suspect && now->segments_out == e->first_look.segments_out);
}

/* A new suspicion takes the place of one whose bytes have left. */
static void suspect(struct conn *c, const struct kernel_tcp_info *now, bool behind) {
    struct evidence *e = c->evidence;
    evidence_add(e, COUNT_SUSPECTS, 1);
    if (e->suspect)
        e->pattern = NULL;
    e->first_look = *now;
    e->times.written = e->times.last_written = clock_now();
    e->bytes_at_look = c->counts.bytes;
    e->suspect = proof_held(now);
    e->behind = behind;
}

/* If a message has several suspicious writes, the kernel may hold bytes only after a later
 * one.  Then the first look at the next message comes after that write. */
static void look(struct conn *c, int fd) {
    struct evidence *e = c->evidence;
    if (e->suspicion != UINT8_MAX)
        e->suspicion++;
    if (e->looked) {
        if (!e->suspect && e->look_next == 0)
            e->look_next = e->suspicion - 1;
        return;
    }
    struct kernel_tcp_info now;
    if (e->suspicion <= e->look_at)
        return;
    e->looked = true;
    if (!looks(e, fd, &now))
        return;
    suspect(c, &now, false);
    e->look_next = e->suspect ? e->look_at : 0;
}

/* A message has begun while the one before may be unacknowledged: are its bytes held?  If not, the looks at
 * later writes of this message are still to come. */
static void look_behind(struct conn *c, const struct stacks_piece *before, const struct evidence_write *w) {
    struct evidence *e = c->evidence;
    struct kernel_tcp_info now;
    if (e->looked || !looks(e, w->fd, &now) || !proof_held(&now))
        return;
    e->looked = true;
    suspect(c, &now, true);
    stacks_pair(e, before, w);
}

/* The bytes are still held: input has come that is older than they are. */
static bool waits_on(const struct evidence *e, const struct kernel_tcp_info *now) {
    return now->segments_out == e->first_look.segments_out && now->bytes_queued > 0 &&
           e->times.looked - e->times.written < PROOF_LEAST_NS;
}

static void settle(struct conn *c, int fd) {
    struct evidence *e = c->evidence;
    struct kernel_tcp_info now;
    if (!e->suspect)
        return;
    e->times.looked = clock_now();
    bool asked = !config()->no_syscalls && kernel->tcp_info(fd, &now) == 0;
    e->suspect = asked && waits_on(e, &now);
    if (!asked || e->suspect)
        return;
    struct proof proof =
        proof_of(&e->first_look, &now, &e->times, c->counts.bytes - e->bytes_at_look, c->policy.mptcp);
    switch (proof.kind) {
    case PROOF_NONE: return;
    case PROOF_SUSPECTED: evidence_add(e, COUNT_STALLS_SUSPECTED, 1); return;
    case PROOF_PROVED:
        evidence_add(e, COUNT_STALLS_PROVED, 1);
        evidence_add(e, COUNT_STALL_NS, proof.ns);
        break;
    case PROOF_BOUND:
        evidence_add(e, COUNT_STALLS_BOUND, 1);
        evidence_add(e, COUNT_STALL_BOUND_NS, proof.ns);
        break;
    }
    e->stalled = !e->behind;
    if (e->behind) {
        c->policy.crosses = true;
        stats_add(e, COUNT_STALLS_CROSSING, 1);
    }
    stacks_stalled(e, proof.ns);
}

void evidence_crossing(struct conn *c, uint64_t ns) {
    struct evidence *e = c->evidence;
    if (!e)
        return;
    evidence_add(e, COUNT_STALLS_PROVED, 1);
    evidence_add(e, COUNT_STALL_NS, ns);
    stats_add(e, COUNT_STALLS_CROSSING, 1);
}

/* True if this write would be held behind the message before, but for our TCP_NODELAY. */
static bool cures_crossing(const struct conn *c, const struct policy_action *action,
                           const struct evidence_write *w) {
    struct kernel_tcp_info now;
    return action->crossing && c->policy.crosses && mode_cures((enum mode)c->policy.mode) &&
           c->policy.nodelay && !config()->no_syscalls && kernel->tcp_info(w->fd, &now) == 0 &&
           now.unacked > w->left;
}

/* True if Nagle's algorithm would hold this write, but for our hold, buffer or push: it is the second small
 * write of a message, soon after the first. */
static bool cures(const struct conn *c, const struct policy_action *action) {
    const struct policy *p = &c->policy;
    if (!mode_cures((enum mode)p->mode) || !action->burst || p->one_way ||
        policy_app_decides(p, config()->override))
        return false;
    bool by_us = action->how != WRITE_PLAIN || action->late_push || c->held || c->buffer ||
                 (action->small_unit && p->smalls >= 2 && p->nodelay);
    return by_us && clock_now() - c->evidence->message_began < DELAYED_ACK_NS;
}

/* ---- the peer's stall ------------------------------------------------- */

static void peer_wrote(struct conn *c, uint64_t at) {
    struct evidence *e = c->evidence;
    struct kernel_tcp_info now;
    if (config()->no_syscalls || c->policy.mode == MODE_OFF)
        return;
    enum quickack_use use = (enum quickack_use)config()->quickack;
    struct quickack_action action = quickack_input(&e->quickack, use, at);
    if (UNLIKELY(action.look) && kernel->tcp_info(c->fd, &now) == 0)
        quickack_arrived(&e->quickack, now.last_received_ms, now.rtt_least_us);
    if (UNLIKELY(action.set)) {
        kernel->set_option(c->fd, IPPROTO_TCP, TCP_QUICKACK, 1);
        evidence_add(e, COUNT_QUICKACKS, 1);
    }
}

static void peer_is_answered(struct evidence *e) {
    struct quickack_found found = quickack_write(&e->quickack);
    evidence_add(e, COUNT_PEER_STALLS, found.stalls);
    evidence_add(e, COUNT_PEER_STALL_NS, found.stall_ns);
    evidence_add(e, COUNT_QUICKACK_SAVED_NS, found.saved_ns);
}

/* ---- events of a connection ------------------------------------------- */

void evidence_writes(struct conn *c) {
    struct evidence *e = c->evidence;
    if (!e || !e->suspect)
        return;
    uint64_t now = clock_now();
    /* a later look would find the time of this write, not of the suspected one */
    if (now - e->times.written >= PROOF_LEAST_NS)
        settle(c, c->fd);
    else
        e->times.last_written = now;
}

/* A run of writes begins; stalls are found per run. */
static void begin_run(struct evidence *e, const struct evidence_write *w) {
    if (e->suspicion) {
        e->look_at = e->look_next;
        e->look_next = 0;
    }
    e->looked = e->cured = e->stalled = false;
    e->suspicion = 0;
    if (!e->suspect) {
        e->behind = false;
        e->pattern = NULL;
    }
    e->first = stacks_keep(e, w);
}

/* A stream of events gets no input; there a pause begins the next run. */
static bool after_a_pause(struct evidence *e) {
    uint64_t before = e->wrote_at;
    e->wrote_at = clock_now();
    return e->wrote_at - before >= PROOF_LEAST_NS;
}

void evidence_wrote(struct conn *c, const struct policy_action *action, const struct evidence_write *w) {
    struct evidence *e = c->evidence;
    if (!e)
        return;
    bool observes = c->policy.mode == MODE_OBSERVE;
    bool first = (observes && after_a_pause(e)) || action->new_message;
    const struct stacks_piece before = e->last;
    bool explained = e->stalled && !c->policy.crosses;
    if (action->new_message)
        peer_is_answered(e);
    if (first)
        begin_run(e, w);
    bool crossed = cures_crossing(c, action, w), cured = crossed || cures(c, action);
    /* the first message of a connection is acknowledged at once: it would not have stalled */
    if (cured && !e->cured && c->counts.messages > 1) {
        e->cured = true;
        evidence_add(e, COUNT_STALLS_CURED, 1);
    }
    if (crossed && !e->pattern) {
        e->behind = true;
        stacks_pair(e, &before, w);
    }
    if (action->suspected && observes)
        look(c, w->fd);
    if ((cured || action->suspected) && !e->pattern && !first)
        stacks_pair(e, &e->first, w);
    if (action->crossing && observes && !explained)
        look_behind(c, &before, w);
    if (first)
        e->last = e->first;
    else if (observes && c->policy.crossings)
        e->last = stacks_keep(e, w); /* the next message may be held behind it */
    else
        e->last = (struct stacks_piece){w->caller, NULL};
}

void evidence_uncorked(struct conn *c, const struct policy_action *action) {
    if (!c->evidence || c->policy.mode != MODE_OBSERVE)
        return;
    if (action->suspected)
        look(c, c->fd);
    if (action->crossing)
        look_behind(c, &(struct stacks_piece){0}, &(struct evidence_write){.fd = c->fd});
}

void evidence_input(struct conn *c, uint64_t now) {
    struct evidence *e = c->evidence;
    settle(c, c->fd);
    if (e->input_at && e->message_began == 0)
        e->input_at = now; /* the rest of the input: the peer's delay is not the application's */
    peer_wrote(c, now);
}

void evidence_ends(struct conn *c, int fd) {
    if (c->evidence)
        settle(c, fd);
}

/* ---- where it lies ------------------------------------------------------ */

enum { CHUNK = 64 * 1024 };

static struct pool pool;

bool evidence_begin(struct conn *c) {
    struct evidence *e = c->evidence;
    if (!e && !c->listener && evidence_wanted(config()) && !config()->no_syscalls)
        e = pool_take(&pool, sizeof(*e), CHUNK / sizeof(*e));
    if (e)
        c->epoch = 0; /* forces a look at its arm and its mode */
    if (e == c->evidence)
        return e;
    memset(e, 0, sizeof(*e));
    e->opened = clock_now();
    e->arm = NO_ARM;
    e->alone_since = LOAD(&nodelay_epoch);
    e->role = c->origin == ORIGIN_ACCEPTED ? ROLE_LISTENER
              : c->origin == ORIGIN_SOCKET ? ROLE_DESTINATION
                                           : ROLE_UNKNOWN;
    c->evidence = e;
    return true;
}

void evidence_free(struct conn *c) {
    struct evidence *e = c->evidence;
    c->evidence = NULL;
    if (e)
        pool_give(&pool, e);
}

void conn_repaired(struct conn *c) {
    enum { FIRST = offsetof(struct evidence, message_began) };
    memset((char *)c->evidence + FIRST, 0, sizeof(*c->evidence) - FIRST);
}
