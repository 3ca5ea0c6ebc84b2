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

void tally_created(struct conn *c) {
    if (evidence_begin(c))
        c->epoch = 0; /* forces a look at its arm and its mode */
}

/* Asks for the addresses of both ends, once a connection. */
static bool know_ends(struct conn *c, struct evidence *e) {
    struct sockaddr_storage peer = {0}, local = {0};
    if (e->ends_known)
        return true;
    if (config()->no_syscalls || kernel->name(c->fd, true, &peer) != 0 ||
        kernel->name(c->fd, false, &local) != 0)
        return false;
    address_of(&peer, &e->peer);
    address_of(&local, &e->local);
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

static void begin_record(const struct conn *c, struct evidence *e, const struct stats_row *row) {
    e->record = stats_record();
    if (e->record == EVIDENCE_NONE)
        return;
    struct stats_connection *r = &stats_file_now()->connection[e->record];
    r->row = e->row;
    r->cookie = c->cookie;
    r->opened_ns = e->opened;
    r->peer = e->peer;
    r->local = e->local;
    r->arm = row->arm;
    r->mode = row->mode;
    r->number = row->arm == NO_ARM ? 0 : e->number;
    r->first_write_us = UINT32_MAX;
    STORE_RELEASE(&r->state, STATS_VALID);
}

/* The first bytes: assign the row and the record. */
static void take_place(struct conn *c, struct evidence *e) {
    if (!stats_file_now())
        return;
    bool known = know_ends(c, e);
    struct stats_row row = {
        .role = e->role,
        .arm = e->experiment == config()->experiment ? e->arm : NO_ARM,
        .mode = c->policy.mode,
    };
    if (known)
        row.endpoint = *endpoint_of(e);
    e->row = stats_row(&row);
    begin_record(c, e, &row);
    stats_add(e, COUNT_CONNECTIONS, 1);
}

/* ---- moving counts ---------------------------------------------------- */

static uint64_t found(const struct evidence *e, enum stats_counter what) {
    return e->found[what - COUNT_SUSPECTS];
}

/* Adds to a counter what its count has grown by since `*told`.  A failed write is subtracted after it was
 * counted and perhaps moved: the difference may be negative. */
static void moves32(uint64_t *counter, uint32_t now, uint32_t *told) {
    if (now != *told)
        __atomic_fetch_add(counter, (uint64_t)(int32_t)(now - *told), __ATOMIC_RELAXED);
    *told = now;
}

static void moves64(uint64_t *counter, uint64_t now, uint64_t *told) {
    if (now != *told)
        __atomic_fetch_add(counter, now - *told, __ATOMIC_RELAXED);
    *told = now;
}

void tally_moves(struct conn *c) {
    struct evidence *e = c->evidence;
    struct stats_file *s = stats_file_now();
    e->since_moved = 0;
    if (!s)
        return;
    uint64_t *counter = stats_shard(s, e)->counter;
    for (size_t i = 0; i < CONN_COUNTERS; i++)
        moves32(&counter[COUNT_WRITES + i], c->counts.counter[i], &e->told.counter[i]);
    for (int i = 0; i < EVIDENCE_COUNTERS; i++)
        moves64(&counter[COUNT_SUSPECTS + i], e->found[i], &e->told_found[i]);
    moves32(&counter[COUNT_SMALL_WRITES], e->small_writes, &e->small_told);
    moves32(&counter[COUNT_UNTRACKED], c->policy.untracked_io, &e->untracked_told);
    moves64(&counter[COUNT_BYTES], LOAD(&c->counts.bytes), &e->told.bytes);
    if (e->record == EVIDENCE_NONE)
        return;
    struct stats_connection *r = &s->connection[e->record];
    STORE(&r->messages, (uint64_t)c->counts.messages);
    STORE(&r->bursts, (uint64_t)c->counts.bursts);
    STORE(&r->writes, (uint64_t)c->counts.writes);
    STORE(&r->bytes, c->counts.bytes);
    STORE(&r->stalls_proved, found(e, COUNT_STALLS_PROVED));
    STORE(&r->stalls_suspected, found(e, COUNT_STALLS_SUSPECTED));
    STORE(&r->stalls_cured, found(e, COUNT_STALLS_CURED));
    STORE(&r->stall_ns, found(e, COUNT_STALL_NS));
    STORE(&r->stall_bound_ns, found(e, COUNT_STALL_BOUND_NS));
    STORE(&r->peer_stalls, found(e, COUNT_PEER_STALLS));
}

static void move_sometimes(struct conn *c, struct evidence *e) {
    if (++e->since_moved >= MOVE_AFTER)
        tally_moves(c);
}

/* ---- times ------------------------------------------------------------ */

static void count_first_write(const struct conn *c, struct evidence *e, uint64_t began) {
    struct stats_file *s = stats_file_now();
    e->wrote = true;
    if (!s)
        return;
    uint64_t ns = began - e->opened;
    stats_add(e, COUNT_FIRST_WRITES, 1);
    stats_add(e, COUNT_FIRST_WRITE_NS, ns);
    if (e->record == EVIDENCE_NONE)
        return;
    uint64_t us = ns / 1000;
    STORE(&s->connection[e->record].first_write_us,
          us < UINT32_MAX ? (uint32_t)us : UINT32_MAX - 1);
    STORE(&s->connection[e->record].cookie, c->cookie);
}

static void count_answer(struct evidence *e, uint64_t began) {
    struct stats_file *s = stats_file_now();
    uint64_t ns = began - e->input_at;
    e->input_at = 0;
    if (!s)
        return;
    stats_add(e, COUNT_ANSWERS, 1);
    stats_add(e, COUNT_ANSWER_NS, ns);
    uint64_t *answer = stats_shard(s, e)->answer;
    __atomic_fetch_add(&answer[histogram_bucket_of(ns, HISTOGRAM_STEPS)], 1, __ATOMIC_RELAXED);
}

static void count_exchange(struct evidence *e, uint64_t ns) {
    struct stats_file *s = stats_file_now();
    if (!s)
        return;
    stats_add(e, COUNT_EXCHANGES, 1);
    stats_add(e, COUNT_EXCHANGE_NS, ns);
    uint64_t *exchange = stats_shard(s, e)->exchange;
    __atomic_fetch_add(&exchange[histogram_bucket_of(ns, HISTOGRAM_STEPS)], 1, __ATOMIC_RELAXED);
    if (e->record == EVIDENCE_NONE)
        return;
    struct stats_connection *r = &s->connection[e->record];
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
        stats_add(e,
                    small == 2   ? COUNT_BURSTS_2
                    : small == 3 ? COUNT_BURSTS_3
                    : small < 8  ? COUNT_BURSTS_4_7
                                 : COUNT_BURSTS_8,
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
    if (UNLIKELY(e->row == EVIDENCE_NONE))
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
    e->small_writes += action->small_write;
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
        e->small_writes -= action->small_write;
    if (c->policy.message_bytes == 0)
        e->message_began = 0;
    answered_early(e);
}

void tally_input(struct conn *c, uint64_t now) {
    struct evidence *e = c->evidence;
    if (UNLIKELY(LOAD(&clock_stopped) != 0))
        return;
    if (UNLIKELY(e->row == EVIDENCE_NONE))
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
    struct stats_file *s = stats_file_now();
    if (!s || e->ended)
        return;
    uint64_t unseen = unseen_of(c, now);
    if (c->counts.writes + c->counts.reads + unseen == 0)
        return;
    if (e->row == EVIDENCE_NONE)
        take_place(c, e);
    e->ended = true;
    tally_moves(c);
    count_burst(e, c->policy.small_writes);
    stats_add(e, COUNT_SEGMENTS, now ? now->segments_out : 0);
    stats_add(e, COUNT_UNSEEN_BYTES, unseen);
    stats_add(e, COUNT_CONNECTIONS_ENDED, 1);
    if (e->record == EVIDENCE_NONE)
        return;
    struct stats_connection *r = &s->connection[e->record];
    STORE(&r->segments, now ? (uint64_t)now->segments_out : 0);
    STORE(&r->ended_ns, clock_now());
    stats_record_ended(e->record);
}

void conn_ends(struct conn *c) {
    tally_ends(c, NULL);
    evidence_free(c);
}

/* ---- arms -------------------------------------------------------------- */

static bool settle_arm(struct conn *c, struct evidence *e, const struct config *now) {
    static uint64_t serial;
    if (e->arm_known)
        return true;
    if (now->arms.count) {
        if (!know_ends(c, e))
            return false;
        uint64_t number = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
        uint64_t key =
            assignment_key(now->arms.seed, now->arms.assignment, number, &e->peer, endpoint_of(e));
        e->number = (uint32_t)number;
        e->arm = (uint8_t)assignment_arm(key, now->arms.weight, now->arms.count);
    }
    e->arm_known = true;
    e->experiment = now->experiment;
    return true;
}

bool tally_mode(struct conn *c, const struct config *now, enum mode *mode) {
    struct evidence *e = c->evidence;
    bool settled = settle_arm(c, e, now);
    bool takes_part = e->arm != NO_ARM && e->experiment == now->experiment;
    *mode = takes_part ? (enum mode)now->arms.mode[e->arm] : now->mode;
    return settled;
}
