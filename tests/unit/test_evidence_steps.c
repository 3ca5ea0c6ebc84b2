/* SPDX-License-Identifier: MIT
 *
 * Each step of evidence.c by itself: which writes count as cured, when it looks, which event ends a look, and
 * the first state of a run of writes.  The actions of policy and the numbers of TCP_INFO are the test's.
 */
#include <errno.h>

#include "config.h"
#include "evidence.h"
#include "turn.h"
#include "stalls.h"
#include "shim.h"
#include "statistics.h"

TestSuite(evidence_steps, .fini = statistics_end, .timeout = 20);

enum { HEAD = 0x1000, BODY = 0x2000 };

static struct conn *c;
static struct evidence *e;

static void start(const char *mode, const char *more) {
    statistics_start(mode, more, NULL);
    c = whole_connected(5);
    whole_write(5, "hello");
    whole_read(5, 100);
    e = c->evidence;
    fake_log();
}

static uint64_t found(enum stats_counter what) {
    return e->found[what - COUNT_SUSPECTS];
}

static void wrote_from(struct policy_action action, uintptr_t caller) {
    const struct evidence_write w = {5, 4, caller};
    ASSERT(conn_lock(c));
    evidence_wrote(c, &action, &w);
    conn_unlock(c);
}

static void wrote(struct policy_action action) {
    wrote_from(action, 0);
}

/* ---- which writes are cured --------------------------------------------- */

static const struct {
    const char *name;
    struct policy_action action;
    struct policy policy;
    bool held, buffered, override, cured;
    uint64_t age_ms;
} cures[] = {
    {"pushed late", {.burst = true, .late_push = true}, {.mode = MODE_NODELAY}, .cured = true},
    {"held", {.burst = true, .how = WRITE_MORE}, {.mode = MODE_CORK}, .cured = true},
    {"buffered", {.burst = true, .how = WRITE_COALESCE}, {.mode = MODE_COALESCE}, .cured = true},
    {"behind held bytes", {.burst = true}, {.mode = MODE_AUTO}, .held = true, .cured = true},
    {"behind buffered bytes", {.burst = true}, {.mode = MODE_COALESCE}, .buffered = true, .cured = true},
    {"pushed before",
     {.burst = true, .small_unit = true},
     {.mode = MODE_NODELAY, .smalls = 2, .nodelay = true},
     .cured = true},
    {"... which is not the second small unit",
     {.burst = true, .small_unit = true},
     {.mode = MODE_NODELAY, .smalls = 1, .nodelay = true},
     .cured = false},
    {"... no small unit",
     {.burst = true},
     {.mode = MODE_NODELAY, .smalls = 2, .nodelay = true},
     .cured = false},
    {"Nagle is in force",
     {.burst = true, .small_unit = true},
     {.mode = MODE_NODELAY, .smalls = 2},
     .cured = false},
    {"not the second small write", {.late_push = true}, {.mode = MODE_NODELAY}, .cured = false},
    {"observe", {.burst = true, .late_push = true}, {.mode = MODE_OBSERVE}, .cured = false},
    {"a stream", {.burst = true, .late_push = true}, {.mode = MODE_AUTO, .one_way = true}, .cured = false},
    {"the application's",
     {.burst = true, .late_push = true},
     {.mode = MODE_NODELAY, .app_nodelay = true},
     .cured = false},
    {"... overridden",
     {.burst = true, .late_push = true},
     {.mode = MODE_NODELAY, .app_nodelay = true},
     .override = true,
     .cured = true},
    {"its cork", {.burst = true, .late_push = true},
    {.mode = MODE_NODELAY, .app_cork = true}, .cured = false},
    {"just before it was acknowledged",
     {.burst = true, .late_push = true},
     {.mode = MODE_NODELAY},
     .age_ms = 39,
     .cured = true},
    {"just acknowledged", {.burst = true, .late_push = true}, {.mode = MODE_NODELAY}, .age_ms = 40},
};

Test(evidence_steps, which_writes_are_cured) {
    start("nodelay", NULL);
    static struct coalesce_buffer some;
    EACH_ROW(row, cures) {
        struct config now = *config();
        now.override = row->override;
        config_publish(config(), &now);
        c->policy = row->policy;
        c->held = row->held;
        c->buffer = row->buffered ? &some : NULL;
        e->message_began = time_ns - row->age_ms * MS;
        e->cured = false;
        uint64_t before = found(COUNT_STALLS_CURED);
        evidence_wrote(c, &row->action, &(struct evidence_write){5, 4, 0});
        EXPECT_INT(row->name, found(COUNT_STALLS_CURED) - before, row->cured);
        evidence_wrote(c, &row->action, &(struct evidence_write){5, 4, 0});
        EXPECT_INT("once a message", found(COUNT_STALLS_CURED) - before, row->cured);
        c->buffer = NULL;
        c->held = false;
    }
}

/* ---- runs of writes ----------------------------------------------------- */

static const struct policy_action first = {.new_message = true}, suspected = {.suspected = true}, plain = {0};

Test(evidence_steps, a_pause_begins_a_run) {
    static const struct {
        const char *name, *mode;
        uint64_t pause;
        bool begins;
    } rows[] = {
        {"a pause", "observe", PROOF_LEAST_NS, true},
        {"a shorter one", "observe", PROOF_LEAST_NS - 1, false},
        {"in a mode that cures", "nodelay", PROOF_LEAST_NS * 9, false},
    };
    EACH_ROW(row, rows) {
        start(row->mode, NULL);
        wrote_from(first, HEAD);
        wrote_from(plain, BODY);
        EXPECT_INT("the call site of the first", e->first.caller, HEAD);
        time_ns += row->pause;
        wrote_from(plain, BODY + 8);
        EXPECT_INT(row->name, e->first.caller, row->begins ? BODY + 8 : HEAD);
        shim_closing(5);
        statistics_end();
    }
}

Test(evidence_steps, what_a_run_begins_with) {
    start("observe", NULL);
    wrote(first);
    e->suspect = e->looked = e->cured = true;
    e->pattern = 5;
    wrote(first);
    EXPECT(e->suspect && e->looked && !e->cured); /* the bytes are still held: one stall */
    EXPECT_INT("its pattern", e->pattern, 5);
    e->suspect = false;
    e->looked = e->cured = true;
    e->suspicion = 3;
    e->look_at = 1;
    e->look_next = 2;
    e->pattern = 5;
    wrote_from(first, HEAD);
    EXPECT(!e->suspect && !e->looked && !e->cured && e->suspicion == 0);
    EXPECT_INT("its look", e->look_at, 2);
    EXPECT_INT("and then", e->look_next, 0);
    EXPECT_INT("no pattern", e->pattern, EVIDENCE_NONE);
    EXPECT_INT("its call site", e->first.caller, HEAD);
    e->look_next = 1;
    wrote(first); /* after a run without suspicion */
    EXPECT_INT("the same look", e->look_at, 2);
    EXPECT_INT("and then", e->look_next, 1);
}

/* ---- looks -------------------------------------------------------------- */

static void kept_back(void) {
    fake.tcp_info = (struct kernel_tcp_info){.bytes_sent = 4, .bytes_queued = 4, .unacked = 1, .cwnd = 10,
                                             .window = 65536, .mss = 1460, .segments_out = 1};
}

Test(evidence_steps, a_look) {
    start("observe", NULL);
    kept_back();
    wrote(first);
    EXPECT_INT("not at the first", found(COUNT_SUSPECTS), 0);
    time_ns += MS;
    c->counts.bytes = 4711;
    wrote(suspected);
    EXPECT_INT("looked", found(COUNT_SUSPECTS), 1);
    EXPECT(e->looked && e->suspect && e->suspicion == 1);
    EXPECT_INT("time", e->times.written, time_ns);
    EXPECT_INT("time", e->times.last_written, time_ns);
    EXPECT_INT("bytes", e->bytes_at_look, 4711);
    EXPECT_INT("kept", e->first_look.bytes_queued, 4);
    EXPECT_INT("here the next time, too", e->look_next, 0);
    wrote(suspected);
    EXPECT_INT("one a run", found(COUNT_SUSPECTS), 1);
    EXPECT_INT("counted", e->suspicion, 2);
    e->suspicion = UINT8_MAX;
    wrote(suspected);
    EXPECT_INT("no further than that", e->suspicion, UINT8_MAX);
}

Test(evidence_steps, where_nothing_is_kept_back_it_looks_later) {
    start("observe", NULL);
    for (unsigned run = 0; run < 3; run++) {
        wrote(first);
        for (unsigned i = 0; i < 4; i++) {
            wrote(suspected);
            EXPECT_INT("looks", e->looked, i >= e->look_at);
        }
        EXPECT(!e->suspect);
        EXPECT_INT("behind this look", e->look_next, run == 0 ? 1 : e->look_at + 1);
    }
}

/* Neither a mode that cures nor a write that policy does not suspect is looked at. */
Test(evidence_steps, no_look) {
    start("observe", NULL);
    wrote(first);
    wrote(plain);
    EXPECT(!e->looked && e->suspicion == 0);
    c->policy.mode = MODE_NODELAY;
    wrote(suspected);
    EXPECT(!e->looked && e->suspicion == 0);
    c->policy.mode = MODE_OBSERVE;
    fake.tcp_info_error = -EINVAL;
    wrote(suspected);
    EXPECT(e->looked && !e->suspect);
    EXPECT_INT("no answer", found(COUNT_SUSPECTS), 0);
    fake.tcp_info_error = 0;
    config_switch(MODE_OBSERVE, true);
    wrote(first);
    fake_log();
    wrote(suspected);
    EXPECT_TEXT("no call", fake_log(), "");
    EXPECT(!e->looked);
}

/* ---- events that end a look ---------------------------------------------------- */

static void looked_at(void) {
    kept_back();
    wrote(first);
    wrote(suspected);
    ASSERT(e->suspect);
    fake_log();
}

static void has_left(uint32_t ago_ms) {
    fake.tcp_info.bytes_sent += fake.tcp_info.bytes_queued;
    fake.tcp_info.bytes_queued = 0;
    fake.tcp_info.segments_out++;
    fake.tcp_info.last_sent_ms = ago_ms;
}

static void begins_write(void) {
    ASSERT(conn_lock(c));
    evidence_writes(c);
    conn_unlock(c);
}
static void gets_input(void) {
    ASSERT(conn_lock(c));
    evidence_input(c, clock_now());
    conn_unlock(c);
}
static void ends(void) {
    ASSERT(conn_lock(c));
    evidence_ends(c, 5);
    conn_unlock(c);
}

Test(evidence_steps, events_that_settle) {
    static void (*const events[])(void) = {begins_write, gets_input, ends};
    start("observe", NULL);
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        fake_log();
        events[i]();
        EXPECT_TEXT("nothing to settle", fake_log(), "");
        looked_at();
        time_ns += 45 * MS;
        has_left(1);
        events[i]();
        EXPECT_TEXT("asked", fake_log(), "info(5)");
        EXPECT_INT("proved", found(COUNT_STALLS_PROVED), i + 1);
        EXPECT_INT("time", found(COUNT_STALL_NS), 44 * MS * (i + 1));
        EXPECT(!e->suspect);
        EXPECT_INT("time of the look", e->times.looked, time_ns);
        events[i]();
        EXPECT_TEXT("once", fake_log(), "");
    }
}

/* A write soon after the look does not settle it: the kernel may hold the bytes still. */
Test(evidence_steps, a_write_soon_after) {
    static const struct {
        const char *name;
        uint64_t after;
        bool settles;
    } rows[] = {{"soon", PROOF_LEAST_NS - 1, false}, {"late", PROOF_LEAST_NS, true}};
    start("observe", NULL);
    EACH_ROW(row, rows) {
        looked_at();
        uint64_t looked = time_ns;
        time_ns += row->after;
        begins_write();
        EXPECT_INT(row->name, !e->suspect, row->settles);
        EXPECT_INT(row->name, e->times.last_written, row->settles ? looked : time_ns);
        EXPECT_INT(row->name, e->times.written, looked);
        has_left(0);
        gets_input();
    }
}

Test(evidence_steps, what_cannot_be_settled) {
    start("observe", NULL);
    looked_at();
    time_ns += 45 * MS;
    fake.tcp_info_error = -EINVAL;
    gets_input();
    EXPECT(!e->suspect);
    EXPECT_INT("no answer", found(COUNT_STALLS_PROVED) + found(COUNT_STALLS_SUSPECTED), 0);
    fake.tcp_info_error = 0;
    looked_at();
    time_ns += 45 * MS;
    has_left(1);
    config_switch(MODE_OBSERVE, true);
    gets_input();
    EXPECT_TEXT("no call", fake_log(), "");
    EXPECT(!e->suspect);
    EXPECT_INT("none", found(COUNT_STALLS_PROVED), 0);
}

Test(evidence_steps, mptcp_and_bytes_that_passed_by) {
    start("observe", NULL);
    c->policy.mptcp = true;
    looked_at();
    time_ns += 45 * MS;
    has_left(1);
    gets_input();
    EXPECT_INT("several paths", found(COUNT_STALLS_SUSPECTED), 1);
    c->policy.mptcp = false;
    looked_at();
    c->counts.bytes += 7;
    time_ns += 45 * MS;
    has_left(1);
    fake.tcp_info.segments_out++;
    fake.tcp_info.bytes_sent += 7;
    gets_input();
    EXPECT_INT("more has left, all seen", found(COUNT_STALLS_BOUND), 1);
    EXPECT_INT("no longer than that", found(COUNT_STALL_BOUND_NS), 44 * MS);
    looked_at();
    time_ns += 45 * MS;
    has_left(1);
    fake.tcp_info.segments_out++;
    fake.tcp_info.bytes_sent += 7;
    gets_input();
    EXPECT_INT("more has left, unseen", found(COUNT_STALLS_BOUND), 1);
}

/* ---- call sites --------------------------------------------------------- */

/* A message has one pair of call sites, that of its first suspected write. */
Test(evidence_steps, one_pair_a_message) {
    start("observe", NULL);
    const struct stats_pattern *p = stats_file_mapped->pattern;
    wrote_from(first, HEAD);
    wrote_from(plain, BODY);
    EXPECT_INT("nothing suspected", p[0].state, STATS_FREE);
    wrote_from(suspected, BODY);
    wrote_from(suspected, BODY + 8);
    EXPECT_INT("count", p[0].count, 1);
    EXPECT_INT("second", p[0].caller[1], BODY);
    EXPECT_INT("no other", p[1].state, STATS_FREE);
    struct policy_action both = first;
    both.suspected = true;
    wrote_from(both, HEAD);
    EXPECT_INT("a first write is no second", p[0].count, 1);
    EXPECT_INT("no other", p[1].state, STATS_FREE);
}

/* ---- the peer ----------------------------------------------------------- */

Test(evidence_steps, the_peer_is_not_watched_where_it_cannot_be) {
    start("observe", "UNSTALL_QUICKACK=always");
    time_ns += MS;
    gets_input();
    EXPECT_TEXT("set", fake_log(), "set(5,1)");
    EXPECT_INT("counted", found(COUNT_QUICKACKS), 2);
    c->policy.mode = MODE_OFF;
    time_ns += 9 * MS;
    gets_input();
    EXPECT_TEXT("off", fake_log(), "");
    c->policy.mode = MODE_OBSERVE;
    config_switch(MODE_OBSERVE, true);
    gets_input();
    EXPECT_TEXT("under a filter", fake_log(), "");
    EXPECT_INT("counted", found(COUNT_QUICKACKS), 2);
}

/* The gap counts only if TCP_INFO says that the input has just arrived. */
Test(evidence_steps, a_gap_of_which_nothing_is_known) {
    start("observe", NULL);
    for (int i = 0; i < 3; i++) {
        wrote(first);
        gets_input();
        time_ns += 40 * MS;
        fake.tcp_info_error = i < 2 ? 0 : -EINVAL;
        fake_log();
        gets_input();
        EXPECT_TEXT("asked", fake_log(), "info(5)");
    }
    wrote(first);
    EXPECT_INT("three, of which the last is taken as it seems", found(COUNT_PEER_STALLS), 3);
    EXPECT_INT("time", found(COUNT_PEER_STALL_NS), 120 * MS);
}

/* More of the same input is the peer's time, not the application's. */
Test(evidence_steps, the_rest_of_an_input) {
    start("observe", NULL);
    e->message_began = 0;
    e->input_at = time_ns;
    time_ns += 7 * MS;
    gets_input();
    EXPECT_INT("moved", e->input_at, time_ns);
    e->input_at = 0;
    gets_input();
    EXPECT_INT("no input has begun", e->input_at, 0);
    e->input_at = 5;
    e->message_began = 6;
    gets_input();
    EXPECT_INT("a message is open", e->input_at, 5);
}

/* ---- connections with evidence --------------------------------------------------- */

static const struct {
    const char *name, *mode, *more;
    bool wanted;
} wishes[] = {
    {"a cure", "UNSTALL_MODE=auto", NULL, false},        {"observe", "UNSTALL_MODE=observe", NULL, true},
    {"statistics", "UNSTALL_MODE=off", "UNSTALL_STATS=/dev/shm/none", true},
    {"an experiment", "UNSTALL_MODE=off", "UNSTALL_ARMS=off:1,auto:1", true},
    {"the peer", "UNSTALL_MODE=off", "UNSTALL_QUICKACK=auto", true},
    {"not the peer", "UNSTALL_MODE=off", "UNSTALL_QUICKACK=off", false},
};

Test(evidence_steps, who_has_evidence) {
    static const enum conn_origin origins[] = {ORIGIN_SOCKET, ORIGIN_ACCEPTED, ORIGIN_FOREIGN};
    static const enum stats_role roles[] = {ROLE_DESTINATION, ROLE_LISTENER, ROLE_UNKNOWN};
    EACH_ROW(row, wishes) {
        whole_start((const char *const[]){row->mode, row->more, NULL});
        clock_get = stopped_clock;
        for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
            struct conn *one = fds_create(20, origins[i]);
            EXPECT_INT(row->name, evidence_begin(one), row->wanted);
            EXPECT_INT(row->name, one->evidence != NULL, row->wanted);
            const struct evidence *of = one->evidence;
            EXPECT(!of || (of->role == roles[i] && of->arm == NO_ARM && of->opened == time_ns &&
                           of->row == EVIDENCE_NONE && of->record == EVIDENCE_NONE));
            EXPECT(!of || (evidence_begin(one) && one->evidence == of));
            conn_unlock(one);
        }
        struct conn *listener = fds_create(21, ORIGIN_SOCKET);
        listener->listener = true;
        EXPECT(!evidence_begin(listener));
        config_switch(config()->mode, true);
        listener->listener = false;
        EXPECT(!evidence_begin(listener));
        conn_unlock(listener);
    }
}

/* In the child all counts begin at zero; the knowledge of the connection stays. */
Test(evidence_steps, of_a_forked_child) {
    start("observe", NULL);
    const struct evidence before = *e;
    memset(e, 0x5a, sizeof(*e));
    e->opened = before.opened;
    e->arm = 3;
    conn_repaired(c);
    EXPECT(e->row == EVIDENCE_NONE && e->record == EVIDENCE_NONE && e->pattern == EVIDENCE_NONE &&
           e->first.kept == EVIDENCE_NONE);
    EXPECT(!e->message_began && !e->input_at && !e->early && !e->since_moved && !e->small_writes &&
           !e->small_told);
    EXPECT(!e->suspect && !e->wrote && !e->untracked_told && !e->ended);
    for (int i = 0; i < EVIDENCE_COUNTERS; i++)
        EXPECT(e->found[i] == 0 && e->told_found[i] == 0);
    const struct conn_counts none = {0};
    EXPECT(memcmp(&e->told, &none, sizeof(none)) == 0);
    EXPECT_INT("its arm", e->arm, 3);
    EXPECT_INT("its begin", e->opened, before.opened);
    *e = before;
}

/* ---- counts before a look ----------------------------- */

static ssize_t long_write(void) {
    return whole_write(5, "body");
}
static ssize_t moved_body(void) {
    struct call call;
    ASSERT(shim_bulk_begins(5, 0, false, &call) == BULK_GOES);
    shim_bulk_ended(call, 5, 1, 4, false, 0);
    return 4;
}

/* The bytes of a write that is looked at are counted by then: others would count as unseen. */
Test(evidence_steps, the_bytes_at_a_look) {
    static ssize_t (*const ways[])(void) = {long_write, moved_body};
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        start("observe", NULL);
        whole_write(5, "head");
        kept_back();
        EXPECT_INT("written", ways[i](), 4);
        EXPECT(e->suspect);
        EXPECT_INT("bytes", e->bytes_at_look, c->counts.bytes);
        EXPECT_INT("bytes", c->counts.bytes, 13);
        shim_closing(5);
        statistics_end();
    }
}
