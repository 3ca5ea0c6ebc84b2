/* SPDX-License-Identifier: MIT
 *
 * Each step of tally.c and of report.c by itself: when counts move, a connection without a file, a record or
 * known ends, which bytes are unseen, and where a sum ends.
 */
#include <errno.h>

#include "config.h"
#include "evidence.h"
#include "turn.h"
#include "statistics.h"

TestSuite(tally_steps, .fini = statistics_end, .timeout = 20);

static struct conn *c;
static struct evidence *e;

static void start(const char *mode) {
    statistics_start(mode, NULL, NULL);
    c = whole_connected(5);
    stats_meets_tcp();
    e = c->evidence;
    ASSERT(e && stats_file_mapped);
    fake_log();
}

static void first_write(void) {
    tally_write_begins(c);
    c->counts.writes++;
    c->counts.bytes += 4;
    c->policy.message_bytes = 4;
    tally_written(c, &(struct policy_action){.new_message = true, .small_write = true});
}

static struct stats_connection *record(void) {
    return &stats_file_mapped->connection[e->record];
}

/* ---- the ends of a connection ------------------------------------------- */

Test(tally_steps, ends_that_are_not_known_yet) {
    start("off");
    fake.peer_port = 0;
    first_write();
    EXPECT_TEXT("asked", fake_log(), "peer(5)");
    EXPECT(!e->ends_known && e->row != EVIDENCE_NONE);
    EXPECT_INT("no endpoint", stats_file_mapped->row[e->row].endpoint.port, 0);
    e->row = EVIDENCE_NONE;
    fake.peer_port = 80;
    fake.local_port = 0;
    c->policy.message_bytes = 0;
    tally_write_begins(c);
    EXPECT_TEXT("asked", fake_log(), "peer(5) local(5)");
    EXPECT(!e->ends_known);
    e->row = EVIDENCE_NONE;
    fake.local_port = 5000;
    tally_write_begins(c);
    EXPECT(e->ends_known && e->peer.port == 80 && e->local.port == 5000);
    fake_log();
    e->row = EVIDENCE_NONE;
    tally_write_begins(c);
    EXPECT_TEXT("once", fake_log(), "");
    EXPECT_INT("endpoint", stats_file_mapped->row[e->row].endpoint.port, 80);
    e->row = EVIDENCE_NONE;
    e->ends_known = false;
    config_switch(MODE_OFF, true);
    tally_write_begins(c);
    EXPECT_TEXT("not under a filter", fake_log(), "");
}

/* The lower port is the server's where it is not known which side connected. */
static const struct {
    const char *name;
    enum stats_role role;
    uint16_t peer, local, endpoint;
} roles[] = {
    {"ours", ROLE_DESTINATION, 90, 80, 90},     {"accepted", ROLE_LISTENER, 80, 90, 90},
    {"unknown, the peer's", ROLE_UNKNOWN, 80, 90, 80}, {"unknown, our own", ROLE_UNKNOWN, 90, 80, 80},
};

Test(tally_steps, whose_endpoint_it_is) {
    start("off");
    EACH_ROW(row, roles) {
        fake.peer_port = row->peer;
        fake.local_port = row->local;
        e->row = EVIDENCE_NONE;
        e->ends_known = false;
        e->role = (uint8_t)row->role;
        tally_write_begins(c);
        EXPECT_INT(row->name, stats_file_mapped->row[e->row].endpoint.port, row->endpoint);
        EXPECT_INT(row->name, stats_file_mapped->row[e->row].role, row->role);
    }
}

static const struct {
    const char *name;
    int error;
    uint16_t peer;
    bool filter, evidence;
    uint64_t before_us;
} sights[] = {
    {"connected", 0, 80, false, true, 30},
    {"not connected", 0, 0, false, false, 0},
    {"without an answer", -EINVAL, 80, false, true, 0},
    {"under a filter", 0, 80, true, false, 0},
};

Test(tally_steps, first_sight) {
    start("off");
    EACH_ROW(row, sights) {
        fake.tcp_info = (struct kernel_tcp_info){.bytes_sent = 20, .bytes_queued = 10};
        fake.tcp_info_error = row->error;
        fake.peer_port = row->peer;
        config_switch(MODE_OFF, row->filter);
        struct conn *one = fds_create(30, ORIGIN_FOREIGN);
        tally_first_sight(one);
        EXPECT_INT(row->name, one->evidence != NULL, row->evidence);
        EXPECT_INT(row->name, one->evidence ? one->evidence->before_us : 0, row->before_us);
        conn_unlock(one);
    }
}

/* ---- when counts move --------------------------------------------------- */

Test(tally_steps, after_64_calls) {
    start("off");
    for (int i = 1; i <= 130; i++) {
        first_write();
        EXPECT_INT("moved", counted(1, COUNT_WRITES), i / 64 * 64);
        EXPECT_INT("small ones", counted(1, COUNT_SMALL_WRITES), i / 64 * 64);
        EXPECT_INT("bytes", counted(1, COUNT_BYTES), i / 64 * 256);
    }
    tally_moves(c);
    EXPECT_INT("now", counted(1, COUNT_WRITES), 130);
    EXPECT_INT("from here on", e->since_moved, 0);
    tally_moves(c);
    EXPECT_INT("once", counted(1, COUNT_WRITES), 130);
    c->counts.writes -= 2; /* writes that failed after they were moved */
    c->counts.bytes -= 8;
    e->small_writes -= 2;
    tally_moves(c);
    EXPECT_INT("less", counted(1, COUNT_WRITES), 128);
    EXPECT_INT("less", counted(1, COUNT_BYTES), 512);
    EXPECT_INT("less", counted(1, COUNT_SMALL_WRITES), 128);
}

/* Every counter has its place. */
Test(tally_steps, each_counter_moves) {
    start("off");
    first_write();
    const struct conn_counts none = {0};
    c->counts = none;
    e->told = none;
    for (int i = 0; i < CONN_COUNTERS; i++)
        c->counts.counter[i] = (uint32_t)(i + 1);
    for (int i = 0; i < EVIDENCE_COUNTERS; i++)
        e->found[i] = (uint64_t)(100 + i);
    c->policy.untracked_io = true;
    tally_moves(c);
    tally_moves(c);
    for (int i = 0; i < CONN_COUNTERS; i++)
        EXPECT_INT("of the connection", counted(1, (enum stats_counter)(COUNT_WRITES + i)), i + 1);
    for (int i = 0; i < EVIDENCE_COUNTERS; i++)
        EXPECT_INT("found", counted(1, (enum stats_counter)(COUNT_SUSPECTS + i)), 100 + i);
    EXPECT_INT("untracked", counted(1, COUNT_UNTRACKED), 1);
#define FOUND(what) (100 + what - COUNT_SUSPECTS)
    EXPECT_INT("record", record()->writes, c->counts.writes);
    EXPECT_INT("record", record()->messages, c->counts.messages);
    EXPECT_INT("record", record()->bursts, c->counts.bursts);
    EXPECT_INT("record", record()->stalls_proved, FOUND(COUNT_STALLS_PROVED));
    EXPECT_INT("record", record()->stalls_suspected, FOUND(COUNT_STALLS_SUSPECTED));
    EXPECT_INT("record", record()->stalls_cured, FOUND(COUNT_STALLS_CURED));
    EXPECT_INT("record", record()->stall_ns, FOUND(COUNT_STALL_NS));
    EXPECT_INT("record", record()->stall_bound_ns, FOUND(COUNT_STALL_BOUND_NS));
    EXPECT_INT("record", record()->peer_stalls, FOUND(COUNT_PEER_STALLS));
#undef FOUND
    c->counts = none;
    e->told = none;
}

/* A connection without a row counts as `other`; one without a record has its row all the same. */
Test(tally_steps, without_a_row_or_a_record) {
    start("off");
    c->counts.writes = 3;
    tally_moves(c);
    EXPECT_INT("other", counted(0, COUNT_WRITES), 3);
    first_write();
    uint32_t had = e->record;
    e->record = EVIDENCE_NONE;
    time_ns += 5 * MS;
    tally_input(c, clock_now());
    EXPECT_INT("its row", counted(1, COUNT_EXCHANGES), 1);
    e->record = had;
    EXPECT_INT("no record", record()->exchanges, 0);
    tally_ends(c, NULL);
    EXPECT_INT("ended", counted(1, COUNT_CONNECTIONS_ENDED), 1);
}

/* ---- times -------------------------------------------------------------- */

Test(tally_steps, a_first_write_after_more_than_an_hour) {
    static const uint64_t after_us[] = {0, 5, UINT32_MAX - 2, UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 40};
    for (size_t i = 0; i < ARRAY_SIZE(after_us); i++) {
        if (i == 0)
            start("off");
        e->wrote = false;
        c->policy.message_bytes = 0;
        e->opened = time_ns;
        time_ns += after_us[i] * 1000;
        c->cookie = 4711 + i;
        first_write();
        EXPECT_INT("us", record()->first_write_us, after_us[i] < UINT32_MAX ? after_us[i] : UINT32_MAX - 1);
        EXPECT_INT("cookie", record()->cookie, 4711 + i);
        EXPECT_INT("counted", counted(1, COUNT_FIRST_WRITES), i + 1);
    }
}

static void exchange_of(uint64_t ns) {
    c->policy.message_bytes = 0;
    first_write();
    time_ns += ns;
    tally_input(c, clock_now());
    policy_input(&c->policy, 1, 2, false);
}

Test(tally_steps, exchanges_in_a_record) {
    start("off");
    exchange_of(5 * MS);
    exchange_of(9 * MS);
    exchange_of(2 * MS);
    EXPECT_INT("number", record()->exchanges, 3);
    EXPECT_INT("time", record()->exchange_ns, 16 * MS);
    EXPECT_INT("the longest", record()->exchange_longest_ns, 9 * MS);
    uint16_t *coarse = &record()->exchange[histogram_bucket_of(5 * MS, COARSE_STEPS)];
    EXPECT_INT("one of them", *coarse, 1);
    *coarse = UINT16_MAX - 1;
    exchange_of(5 * MS);
    EXPECT_INT("the last that counts", *coarse, UINT16_MAX);
    exchange_of(5 * MS);
    EXPECT_INT("no more", *coarse, UINT16_MAX);
    EXPECT_INT("number", record()->exchanges, 5);
}

/* ---- a message that never left ------------------------------------------ */

Test(tally_steps, a_first_write_that_failed) {
    start("off");
    tally_write_begins(c);
    EXPECT(e->message_began == time_ns);
    e->small_writes = 1;
    tally_unsent(c, &(struct policy_action){.small_write = true});
    EXPECT_INT("no message", e->message_began, 0);
    EXPECT_INT("no small write", e->small_writes, 0);
    tally_unsent(c, NULL);
    EXPECT_INT("nothing was counted", e->small_writes, 0);
    first_write();
    tally_unsent(c, &(struct policy_action){0}); /* a second one */
    EXPECT(e->message_began == time_ns);
    EXPECT_INT("its small write", e->small_writes, 1);
}

Test(tally_steps, where_no_clock_may_be_read) {
    start("off");
    clock_stopped = 5;
    tally_write_begins(c);
    EXPECT(e->message_began == 0 && e->row == EVIDENCE_NONE);
    tally_input(c, clock_now());
    EXPECT(e->input_at == 0 && e->row == EVIDENCE_NONE);
    clock_stopped = 0;
    tally_input(c, clock_now());
    EXPECT(e->input_at == time_ns && e->row == 1);
}

Test(tally_steps, a_message_begins_once) {
    start("off");
    first_write();
    uint64_t began = e->message_began;
    time_ns += MS;
    tally_write_begins(c);
    EXPECT(e->message_began == began && began);
}

/* ---- bytes that passed by ----------------------------------------------- */

static const struct {
    const char *name;
    bool no_info, mptcp, shared, fork_since, untracked;
    uint64_t sent, queued, before_us;
    unsigned unseen;
} unseens[] = {
    {"none", .sent = 4},
    {"some", .sent = 10, .queued = 2, .unseen = 8},
    {"less than was seen", .sent = 3},
    {"from before us", .sent = 10, .before_us = 5, .unseen = 1},
    {"nobody knows", .no_info = true, .sent = 10},
    {"over several paths", .mptcp = true, .sent = 10},
    {"a parent may have written", .shared = true, .sent = 10},
    {"a child may have written", .fork_since = true, .sent = 10},
    {"a child, but we know that some pass by", .fork_since = true, .untracked = true, .sent = 10,
     .unseen = 6},
};

Test(tally_steps, which_bytes_are_unseen) {
    EACH_ROW(row, unseens) {
        start("off");
        first_write();
        c->policy.mptcp = row->mptcp;
        c->shared = row->shared;
        c->policy.untracked_io = row->untracked;
        e->before_us = row->before_us;
        nodelay_epoch += row->fork_since;
        const struct kernel_tcp_info now = {.bytes_sent = row->sent, .bytes_queued = row->queued,
                                            .segments_out = 7};
        tally_ends(c, row->no_info ? NULL : &now);
        EXPECT_INT(row->name, counted(1, COUNT_UNSEEN_BYTES), row->unseen);
        EXPECT_INT(row->name, counted(1, COUNT_SEGMENTS), row->no_info ? 0 : 7);
        EXPECT_INT(row->name, record()->segments, row->no_info ? 0 : 7);
        EXPECT_INT(row->name, record()->ended_ns, time_ns);
        tally_ends(c, &now);
        EXPECT_INT("once", counted(1, COUNT_CONNECTIONS_ENDED), 1);
        shim_closing(5);
        statistics_end();
        stats_file_forked(); /* the next row has a file of its own */
        time_ns += MS;
    }
}

/* A connection of which nothing was seen has a row if bytes passed by. */
Test(tally_steps, an_end_without_calls) {
    start("off");
    const struct kernel_tcp_info none = {0}, some = {.bytes_sent = 9};
    tally_ends(c, &none);
    EXPECT(!e->ended && e->row == EVIDENCE_NONE);
    tally_ends(c, &some);
    EXPECT(e->ended && e->row == 1);
    EXPECT_INT("unseen", counted(1, COUNT_UNSEEN_BYTES), 9);
    struct conn *writes = whole_connected(7);
    writes->counts.writes = 9; /* as many calls as bytes that passed by */
    tally_ends(writes, &some);
    EXPECT(writes->evidence->ended);
    struct conn *other = whole_connected(6);
    other->counts.reads = 1;
    tally_ends(other, &none);
    EXPECT(other->evidence->ended);
}

/* ---- without a file ----------------------------------------------------- */

Test(tally_steps, no_file_no_trouble) {
    whole_start_in(MODE_OBSERVE); /* evidence, but no statistics */
    clock_get = stopped_clock;
    c = whole_connected(5);
    e = c->evidence;
    ASSERT(e);
    e->since_moved = 9;
    first_write();
    time_ns += MS;
    tally_input(c, clock_now());
    EXPECT(e->input_at == time_ns && e->message_began == 0 && e->since_moved == 0 && e->wrote);
    time_ns += MS;
    c->policy.message_bytes = 0;
    first_write();
    EXPECT_INT("answered", e->input_at, 0);
    tally_ends(c, NULL);
    EXPECT(!e->ended && e->row == EVIDENCE_NONE && e->record == EVIDENCE_NONE);
    strcpy(statistics_folder, "/dev/shm/none");
}

/* Another thread makes the file: it is waited for a tenth of a second, and not longer. */
Test(tally_steps, a_file_that_another_makes) {
    start("off");
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    stats_state = LIFE_MAKING;
    stats_file_make();
    clock_gettime(CLOCK_MONOTONIC, &ended);
    long ms = (ended.tv_sec - begun.tv_sec) * 1000 + (ended.tv_nsec - begun.tv_nsec) / 1000000;
    cr_expect(ms >= 99, "after %ld ms", ms);
    stats_state = LIFE_THERE;
    stats_file_make();
    EXPECT_INT("there", stats_state, LIFE_THERE);
}

/* ---- the report's questions --------------------------------------------- */

static const struct {
    const char *name, *report;
    bool used, listener, filter, stats, asks;
} questions[] = {
    {"a report, bytes", "UNSTALL_REPORT=stderr", true, false, false, false, true},
    {"a report, no bytes", "UNSTALL_REPORT=stderr", false, false, false, false, false},
    {"no report", NULL, true, false, false, false, false},
    {"a listener", "UNSTALL_REPORT=stderr", true, true, false, false, false},
    {"a filter", "UNSTALL_REPORT=stderr", true, false, true, false, false},
    {"statistics", NULL, false, false, false, true, true},
};

Test(tally_steps, who_is_asked_at_the_end) {
    EACH_ROW(row, questions) {
        whole_start((const char *const[]){"UNSTALL_MODE=off", row->report ? row->report : "UNSTALL_SMALL=100",
                                          row->stats ? "UNSTALL_STATS=/dev/shm/none/there" : NULL, NULL});
        struct conn *one = fds_create(5, ORIGIN_SOCKET);
        conn_unlock(one);
        if (row->stats)
            EXPECT(evidence_begin(one));
        one->counts.writes = row->used;
        one->listener = row->listener;
        if (row->filter)
            config_switch(MODE_OFF, true);
        fake_log();
        stats_connection_ends(one, 5);
        EXPECT_TEXT(row->name, fake_log(), row->asks ? "info(5)" : "");
        fds_forget(5);
    }
    strcpy(statistics_folder, "/dev/shm/none");
}
