/* SPDX-License-Identifier: MIT
 *
 * What a connection tells the statistics file: its row, its record, each exchange.  All of it runs under the
 * connection's lock, but for the making of the file.
 */
#include "evidence.h"

#include "assignment.h"
#include "clock.h"
#include "stats_file.h"

enum { MOVE_AFTER = 64 };

/* ---- the beginning of a connection, its row and its record ------------ */

/* Asks for the addresses of both ends, once a connection. */
static bool know_ends(struct conn *c, struct evidence *e) {
    struct sockaddr_storage peer = {0}, local = {0};
    if (e->ends_known)
        return true;
    if (config()->no_syscalls || kernel->name(c->fd, true, &peer) != 0 ||
        kernel->name(c->fd, false, &local) != 0)
        return false;
    config_address(&peer, &e->peer);
    config_address(&local, &e->local);
    e->ends_known = true;
    return true;
}

/* Bytes sent before we were loaded do not count as unseen writes. */
void tally_first_sight(struct conn *c) {
    struct sockaddr_storage peer;
    struct kernel_tcp_info now;
    if (!config()->no_syscalls && kernel->name(c->fd, true, &peer) == 0 && evidence_begin(c) &&
        kernel->tcp_info(c->fd, &now) == 0)
        c->evidence->before_us = now.bytes_sent + now.bytes_queued;
}

/* If the connecting side is unknown, the lower port counts as the server's. */
static const struct stats_address *endpoint_of(const struct evidence *e) {
    bool local =
        e->role == ROLE_LISTENER || (e->role == ROLE_UNKNOWN && e->local.port < e->peer.port);
    return local ? &e->local : &e->peer;
}

/* The arm of e in this configuration. */
static uint8_t arm_of(const struct evidence *e, const struct config *now) {
    return e->experiment == now->experiment ? e->arm : NO_ARM;
}

/* The first bytes: the row and the record. */
static void take_place(struct conn *c, struct evidence *e) {
    if (LIKELY(e->placed) || !stats_file_now())
        return;
    struct stats_row row = {.role = e->role, .arm = arm_of(e, config()), .mode = c->policy.mode};
    if (know_ends(c, e))
        row.endpoint = *endpoint_of(e);
    e->row = stats_row(&row);
    e->placed = true;
    stats_add(e, COUNT_CONNECTIONS, 1);
    struct stats_connection *r = e->record = stats_record();
    if (!r)
        return;
    r->row = e->row;
    r->cookie = c->cookie;
    r->opened_ns = e->opened;
    r->peer = e->peer;
    r->local = e->local;
    r->arm = row.arm;
    r->mode = row.mode;
    r->number = row.arm == NO_ARM ? 0 : e->number;
    r->first_write_us = UINT32_MAX;
    STORE_RELEASE(&r->state, STATS_VALID);
}

/* ---- moving counts ---------------------------------------------------- */

/* A failed write is subtracted after it was counted and perhaps moved: the difference may be negative. */
void tally_moves(struct conn *c) {
    struct evidence *e = c->evidence;
    struct stats_connection *r = e->record;
    uint64_t now[COUNTED] = {0};
    e->since_moved = 0;
    if (!stats_file_now())
        return;
    evidence_counts(c, now);
    for (unsigned i = 0; i < COUNTED; i++) {
        bool short_one = i >= COUNT_WRITES && i < COUNT_SUSPECTS; /* of 32 bits */
        if (now[i] != e->told[i])
            stats_add(e, i, short_one ? (uint64_t)(int32_t)(now[i] - e->told[i]) : now[i] - e->told[i]);
        e->told[i] = now[i];
    }
    if (!r)
        return;
    STORE(&r->messages, now[COUNT_MESSAGES]);
    STORE(&r->bursts, now[COUNT_BURSTS]);
    STORE(&r->writes, now[COUNT_WRITES]);
    STORE(&r->bytes, now[COUNT_BYTES]);
    STORE(&r->stalls_proved, now[COUNT_STALLS_PROVED]);
    STORE(&r->stalls_suspected, now[COUNT_STALLS_SUSPECTED]);
    STORE(&r->stalls_cured, now[COUNT_STALLS_CURED]);
    STORE(&r->stall_ns, now[COUNT_STALL_NS]);
    STORE(&r->stall_bound_ns, now[COUNT_STALL_BOUND_NS]);
    STORE(&r->peer_stalls, now[COUNT_PEER_STALLS]);
}

static void move_sometimes(struct conn *c, struct evidence *e) {
    if (++e->since_moved >= MOVE_AFTER)
        tally_moves(c);
}

/* ---- times ------------------------------------------------------------ */

/* One more of `what`, which took `ns`; the counter behind it is the sum of these times. */
static void count_time(const struct evidence *e, enum stats_counter what, uint64_t ns, uint64_t *histogram) {
    stats_add(e, what, 1);
    stats_add(e, what + 1, ns);
    if (histogram)
        __atomic_fetch_add(&histogram[histogram_bucket_of(ns, HISTOGRAM_STEPS)], 1, __ATOMIC_RELAXED);
}

static void count_first_write(const struct conn *c, struct evidence *e, uint64_t began) {
    struct stats_connection *r = e->record;
    uint64_t us = (began - e->opened) / 1000;
    e->wrote = true;
    count_time(e, COUNT_FIRST_WRITES, began - e->opened, NULL);
    if (!r)
        return;
    STORE(&r->first_write_us, us < UINT32_MAX ? (uint32_t)us : UINT32_MAX - 1);
    STORE(&r->cookie, c->cookie);
}

static void count_answer(struct evidence *e, uint64_t began) {
    struct stats_file *s = stats_file_now();
    if (s)
        count_time(e, COUNT_ANSWERS, began - e->input_at, stats_shard(s, e)->answer);
    e->input_at = 0;
}

static void count_exchange(struct evidence *e, uint64_t ns) {
    struct stats_file *s = stats_file_now();
    struct stats_connection *r = e->record;
    if (s)
        count_time(e, COUNT_EXCHANGES, ns, stats_shard(s, e)->exchange);
    if (!r)
        return;
    uint16_t *coarse = &r->exchange[histogram_bucket_of(ns, COARSE_STEPS)];
    STORE(&r->exchanges, r->exchanges + 1);
    STORE(&r->exchange_ns, r->exchange_ns + ns);
    if (ns > r->exchange_longest_ns)
        STORE(&r->exchange_longest_ns, ns);
    if (*coarse != UINT16_MAX)
        STORE(coarse, (uint16_t)(*coarse + 1));
}

/* The open message is over: count it by its number of small writes. */
static void count_burst(struct evidence *e, unsigned small) {
    if (small >= 2)
        stats_add(e, small < 4 ? COUNT_BURSTS_2 + small - 2 : small < 8 ? COUNT_BURSTS_4_7 : COUNT_BURSTS_8,
                  1);
}

/* ---- events ------------------------------------------------------------ */

bool tally_pending(void) {
    return stats_file_wanted() || control_changed();
}

void tally_write_begins(struct conn *c) {
    struct evidence *e = c->evidence;
    if (c->policy.message_bytes || LOAD(&clock_stopped))
        return; /* not the first write of a message; or no clock may be read */
    take_place(c, e);
    e->message_began = clock_now();
}

/* After the system call of a write another thread may read the answer before the write is
 * counted.  Such a message begins and ends at once. */
static void answered_early(struct evidence *e) {
    if (e->early)
        e->input_at = e->early_input;
    e->early = 0;
}

void tally_written(struct conn *c, const struct policy_action *action) {
    struct evidence *e = c->evidence;
    uint64_t began = e->early ? e->early : e->message_began;
    evidence_add(e, COUNT_SMALL_WRITES, action->small_write);
    if (action->new_message && began) {
        if (UNLIKELY(!e->wrote))
            count_first_write(c, e, began);
        if (e->input_at)
            count_answer(e, began);
    }
    answered_early(e);
    move_sometimes(c, e);
}

void tally_unsent(struct conn *c, const struct policy_action *action) {
    struct evidence *e = c->evidence;
    if (action)
        evidence_add(e, COUNT_SMALL_WRITES, 0 - (uint64_t)action->small_write);
    if (c->policy.message_bytes == 0)
        e->message_began = 0;
    answered_early(e);
}

void tally_input(struct conn *c, uint64_t now) {
    struct evidence *e = c->evidence;
    if (UNLIKELY(LOAD(&clock_stopped) != 0))
        return;
    take_place(c, e);
    if (e->message_began == 0 && e->input_at) { /* more of the same input */
        move_sometimes(c, e);
        return;
    }
    if (e->message_began) {
        count_exchange(e, now - e->message_began);
        count_burst(e, c->policy.small_writes);
    }
    if (e->message_began && c->policy.message_bytes == 0) {
        e->early = e->message_began;
        e->early_input = now;
    } else {
        e->input_at = now;
    }
    e->message_began = 0;
    tally_moves(c);
}

/* Bytes sent, but not seen as writes.  0 if another process shares the connection: the bytes
 * may be its own. */
static uint64_t unseen_of(const struct conn *c, const struct kernel_tcp_info *now) {
    uint64_t seen = c->evidence->before_us + c->counts.bytes;
    bool shared = c->shared || c->evidence->alone_since != LOAD(&nodelay_epoch);
    if (!now || c->policy.mptcp || (shared && !c->policy.untracked_io))
        return 0;
    uint64_t sent = now->bytes_sent + now->bytes_queued;
    return sent > seen ? sent - seen : 0;
}

void tally_ends(struct conn *c, const struct kernel_tcp_info *now) {
    struct evidence *e = c->evidence;
    if (!stats_file_now() || evidence_add(e, COUNT_CONNECTIONS_ENDED, 0))
        return;
    uint64_t unseen = unseen_of(c, now);
    if (c->counts.writes + c->counts.reads + unseen == 0)
        return;
    take_place(c, e);
    evidence_add(e, COUNT_CONNECTIONS_ENDED, 1);
    tally_moves(c);
    count_burst(e, c->policy.small_writes);
    stats_add(e, COUNT_SEGMENTS, now ? now->segments_out : 0);
    stats_add(e, COUNT_UNSEEN_BYTES, unseen);
    if (!e->record)
        return;
    STORE(&e->record->segments, now ? (uint64_t)now->segments_out : 0);
    STORE(&e->record->ended_ns, clock_now());
    stats_record_ended(e->record);
    e->record = NULL; /* it may be another connection's soon */
}

void conn_ends(struct conn *c) {
    tally_ends(c, NULL);
    evidence_free(c);
}

/* ---- arms -------------------------------------------------------------- */

bool tally_mode(struct conn *c, const struct config *now, enum mode *mode) {
    static uint64_t serial;
    struct evidence *e = c->evidence;
    bool settled = e->experiment || now->arms.count == 0 || know_ends(c, e);
    if (settled && !e->experiment) {
        e->experiment = now->experiment;
        if (now->arms.count) {
            uint64_t number = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
            uint64_t key =
                assignment_key(now->arms.seed, now->arms.assignment, number, &e->peer, endpoint_of(e));
            e->number = (uint32_t)number;
            e->arm = (uint8_t)assignment_arm(key, now->arms.weight, now->arms.count);
        }
    }
    uint8_t arm = arm_of(e, now);
    *mode = arm != NO_ARM ? (enum mode)now->arms.mode[arm] : now->mode;
    return settled;
}
