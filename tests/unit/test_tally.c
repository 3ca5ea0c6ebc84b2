/* SPDX-License-Identifier: MIT
 *
 * What the statistics file says where no test from outside can wait for it: sums at their ends, bytes that
 * another process may have written.
 */
#include "config.h"
#include "evidence.h"
#include "statistics.h"

TestSuite(tally, .fini = statistics_end, .timeout = 20);

static struct conn *c;
static struct evidence *e;

static void start(const char *mode) {
    statistics_start(mode, NULL, NULL);
    c = whole_connected(5);
    stats_file_make();
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
    return e->record;
}

/* ---- times -------------------------------------------------------------- */

Test(tally, a_first_write_after_more_than_an_hour) {
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

Test(tally, exchanges_in_a_record) {
    start("off");
    exchange_of(5 * MS);
    uint16_t *coarse = &record()->exchange[histogram_bucket_of(5 * MS, COARSE_STEPS)];
    EXPECT_INT("one of them", *coarse, 1);
    *coarse = UINT16_MAX - 1;
    exchange_of(5 * MS);
    EXPECT_INT("the last that counts", *coarse, UINT16_MAX);
    exchange_of(5 * MS);
    EXPECT_INT("no more", *coarse, UINT16_MAX);
    EXPECT_INT("number", record()->exchanges, 3);
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

Test(tally, which_bytes_are_unseen) {
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
        const struct stats_connection *r = record();
        tally_ends(c, row->no_info ? NULL : &now);
        EXPECT_INT(row->name, counted(1, COUNT_UNSEEN_BYTES), row->unseen);
        EXPECT_INT(row->name, counted(1, COUNT_SEGMENTS), row->no_info ? 0 : 7);
        EXPECT_INT(row->name, r->segments, row->no_info ? 0 : 7);
        EXPECT_INT(row->name, r->ended_ns, time_ns);
        tally_ends(c, &now);
        EXPECT_INT("once", counted(1, COUNT_CONNECTIONS_ENDED), 1);
        c->counts.writes++; /* by a thread that the close has overtaken */
        tally_moves(c);
        EXPECT_INT("the record may be another's now", r->writes, 1);
        shim_closing(5);
        statistics_end();
        stats_file_forked(); /* the next row has a file of its own */
        time_ns += MS;
    }
}
