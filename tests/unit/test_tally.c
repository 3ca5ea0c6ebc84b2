/* SPDX-License-Identifier: MIT
 *
 * Connections in the statistics file: rows, records, counters and times.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/mman.h>

#include "assignment.h"
#include "evidence.h"
#include "turn.h"
#include "statistics.h"

TestSuite(tally, .fini = statistics_end, .timeout = 20);

static const struct stats_connection *record(uint32_t i) {
    return &stats_file_mapped->connection[i];
}

/* A message of `count` small writes, a millisecond apart, answered 3 ms later; 5 ms until the next one. */
static void exchange(int fd, int count) {
    for (int i = 0; i < count; i++, time_ns += MS)
        whole_write(fd, "head");
    time_ns += 2 * MS;
    whole_read(fd, 100);
    time_ns += 5 * MS;
}

static void close_now(int fd) {
    shim_closing(fd);
}

/* ---- counters --------------------------------------------------------- */

Test(tally, an_exchange_is_counted_once) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    time_ns += 7 * MS;
    for (int i = 0; i < 3; i++)
        exchange(5, 2);
    static const struct {
        const char *name;
        enum stats_counter what;
        uint64_t wanted;
    } rows[] = {
        {"connections", COUNT_CONNECTIONS, 1}, {"writes", COUNT_WRITES, 6},
        {"reads", COUNT_READS, 3},             {"bytes", COUNT_BYTES, 24},
        {"messages", COUNT_MESSAGES, 3},       {"bursts", COUNT_BURSTS, 3},
        {"small", COUNT_SMALL_WRITES, 6},      {"of two", COUNT_BURSTS_2, 3},
        {"of three", COUNT_BURSTS_3, 0},       {"exchanges", COUNT_EXCHANGES, 3},
        {"their time", COUNT_EXCHANGE_NS, 12 * MS}, {"answers", COUNT_ANSWERS, 2},
        {"their time", COUNT_ANSWER_NS, 10 * MS},   {"first writes", COUNT_FIRST_WRITES, 1},
        {"their time", COUNT_FIRST_WRITE_NS, 7 * MS}, {"ended", COUNT_CONNECTIONS_ENDED, 0},
        {"untracked", COUNT_UNTRACKED, 0},     {"unseen", COUNT_UNSEEN_BYTES, 0},
    };
    EACH_ROW(row, rows)
        EXPECT_INT(row->name, counted(1, row->what), row->wanted);
    EXPECT_INT("in the histogram of exchanges", IN_BUCKET(1, exchange, 4 * MS), 3);
    EXPECT_INT("... and of answers", IN_BUCKET(1, answer, 5 * MS), 2);
    for (int i = 0; i < STATS_COUNTERS; i++)
        EXPECT_INT("in no other row", counted(0, (enum stats_counter)i), 0);
    EXPECT_INT("exchanges", record(0)->exchanges, 3);
    EXPECT_INT("their time", record(0)->exchange_ns, 12 * MS);
    EXPECT_INT("the longest", record(0)->exchange_longest_ns, 4 * MS);
    EXPECT_INT("histogram", record(0)->exchange[histogram_bucket_of(4 * MS, COARSE_STEPS)], 3);
    EXPECT_INT("messages", record(0)->messages, 3);
    EXPECT_INT("bursts", record(0)->bursts, 3);
    EXPECT_INT("writes", record(0)->writes, 6);
    EXPECT_INT("bytes", record(0)->bytes, 24);
    EXPECT_INT("first write", record(0)->first_write_us, 7000);
}

Test(tally, the_longest_exchange_stays) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    exchange(5, 9);
    exchange(5, 1);
    EXPECT_INT("the longest", record(0)->exchange_longest_ns, 11 * MS);
}

Test(tally, bursts_by_their_number) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    for (int small = 1; small <= 9; small++)
        exchange(5, small);
    EXPECT_INT("2", counted(1, COUNT_BURSTS_2), 1);
    EXPECT_INT("3", counted(1, COUNT_BURSTS_3), 1);
    EXPECT_INT("4 to 7", counted(1, COUNT_BURSTS_4_7), 4);
    EXPECT_INT("8 and more", counted(1, COUNT_BURSTS_8), 2);
}

Test(tally, input_in_pieces_is_one_answer) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    exchange(5, 1);
    for (int i = 0; i < 4; i++, time_ns += MS)
        whole_read(5, 10);
    exchange(5, 1);
    EXPECT_INT("exchanges", counted(1, COUNT_EXCHANGES), 2);
    EXPECT_INT("answers", counted(1, COUNT_ANSWERS), 1);
    EXPECT_INT("since the last piece", counted(1, COUNT_ANSWER_NS), MS);
}

/* Counts are moved after 64 calls at the latest. */
Test(tally, a_stream_is_counted_while_it_runs) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    for (int i = 0; i < 63; i++)
        whole_write(5, "line");
    EXPECT_INT("not yet", counted(1, COUNT_WRITES), 0);
    whole_write(5, "line");
    EXPECT_INT("now", counted(1, COUNT_WRITES), 64);
    EXPECT_INT("small ones", counted(1, COUNT_SMALL_WRITES), 64);
    whole_write(5, "line");
    EXPECT_INT("not each", counted(1, COUNT_WRITES), 64);
    for (int i = 0; i < 64; i++)
        whole_read(5, 1);
    EXPECT_INT("moved by the first read", counted(1, COUNT_WRITES), 65);
    for (int i = 0; i < 64; i++)
        whole_read(5, 1);
    cr_expect(counted(1, COUNT_READS) >= 65, "reads are moved, too");
}

static void expect_uncounted_failure(const char *mode) {
    statistics_start(mode, NULL, NULL);
    whole_connected(5);
    fake_real.answers[0] = -EAGAIN;
    EXPECT_INT(mode, whole_write(5, "head"), -1);
    time_ns += 100 * MS;
    EXPECT_INT(mode, whole_write(5, "body"), 4);
    time_ns += 3 * MS;
    whole_read(5, 100);
    EXPECT_INT(mode, counted(1, COUNT_WRITES), 1);
    EXPECT_INT(mode, counted(1, COUNT_BYTES), 4);
    EXPECT_INT(mode, counted(1, COUNT_MESSAGES), 1);
    EXPECT_INT(mode, counted(1, COUNT_SMALL_WRITES), 1);
    EXPECT_INT(mode, counted(1, COUNT_EXCHANGE_NS), 3 * MS);
}

Test(tally, a_write_that_fails_is_not_counted) {
    expect_uncounted_failure("off");
}

Test(tally, nor_is_one_in_auto) {
    expect_uncounted_failure("auto");
}

/* The answer is read by another thread before the write is counted. */
static void answered_at_once(void) {
    time_ns += 2 * MS;
    whole_read(5, 100);
    time_ns += 9 * MS;
}

Test(tally, an_answer_that_comes_within_the_write) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    fake_real.meanwhile = answered_at_once;
    whole_write(5, "head");
    EXPECT_INT("exchanges", counted(1, COUNT_EXCHANGES), 1);
    EXPECT_INT("time", counted(1, COUNT_EXCHANGE_NS), 2 * MS);
    time_ns += 4 * MS;
    whole_write(5, "head");
    whole_read(5, 1);
    EXPECT_INT("answers", counted(1, COUNT_ANSWERS), 1);
    EXPECT_INT("since that input", counted(1, COUNT_ANSWER_NS), 13 * MS);
    EXPECT_INT("exchanges", counted(1, COUNT_EXCHANGES), 2);
}

/* ---- rows ------------------------------------------------------------- */

static void expect_row(const char *name, uint32_t i, enum stats_role role, unsigned port) {
    const struct stats_row *row = &stats_file_mapped->row[i];
    EXPECT_INT(name, row->state, STATS_VALID);
    EXPECT_INT(name, row->role, role);
    EXPECT_INT(name, row->endpoint.port, port);
    EXPECT_INT(name, row->endpoint.family, AF_INET);
    EXPECT_INT(name, row->arm, NO_ARM);
}

Test(tally, rows_by_endpoint_and_role) {
    statistics_start("nodelay", NULL, NULL);
    whole_connected(5);
    exchange(5, 1);
    whole_connected(6);
    exchange(6, 1);
    shim_socket_made(3, AF_INET, SOCK_STREAM, 0);
    shim_listens(3);
    shim_accepted(3, 7);
    exchange(7, 1);
    expect_row("the program's own", 1, ROLE_DESTINATION, 80);
    expect_row("accepted", 2, ROLE_LISTENER, 5000);
    fake.peer_port = 81;
    whole_connected(8);
    exchange(8, 1);
    expect_row("another port", 3, ROLE_DESTINATION, 81);
    exchange(9, 1); /* inherited: met at its first write */
    expect_row("the lower port is the server's", 4, ROLE_UNKNOWN, 81);
    fake.peer_port = 6000;
    fake.cookie = 78;
    exchange(10, 1);
    expect_row("... here ours", 5, ROLE_UNKNOWN, 5000);
    EXPECT_INT("connections", counted(1, COUNT_CONNECTIONS), 2);
    EXPECT_INT("rows", stats_file_mapped->row[6].state, STATS_FREE);
    EXPECT_INT("mode", stats_file_mapped->row[1].mode, MODE_NODELAY);
    EXPECT_INT("none lost", stats_file_mapped->header.lost_rows, 0);
    EXPECT_INT("record", record(2)->row, 2);
    EXPECT_INT("record", record(2)->peer.port, 80);
    EXPECT_INT("record", record(2)->local.port, 5000);
    EXPECT_INT("record", record(2)->arm, NO_ARM);
    EXPECT_INT("record", record(2)->mode, MODE_NODELAY);
    EXPECT_INT("record", record(2)->serial, 3);
    EXPECT_INT("record", record(5)->cookie, 78);
    EXPECT_INT("record", record(0)->state, STATS_VALID);
}

Test(tally, more_endpoints_than_rows) {
    statistics_start("off", NULL, NULL);
    for (unsigned i = 0; i < STATS_ROWS + 1; i++) {
        fake.peer_port = (uint16_t)(100 + i);
        whole_connected(20 + (int)i);
        exchange(20 + (int)i, 1);
    }
    EXPECT_INT("lost", stats_file_mapped->header.lost_rows, 2);
    EXPECT_INT("other", counted(0, COUNT_CONNECTIONS), 2);
    EXPECT_INT("other", counted(0, COUNT_EXCHANGES), 2);
    EXPECT_INT("the last with a row", counted(STATS_ROWS - 1, COUNT_CONNECTIONS), 1);
    EXPECT_INT("other's role", stats_file_mapped->row[0].role, ROLE_UNKNOWN);
    EXPECT_INT("other's arm", stats_file_mapped->row[0].arm, NO_ARM);
    EXPECT_INT("other's mode", stats_file_mapped->row[0].mode, MODE_OFF);
}

/* The records stand in the order of the first bytes, not of the connections. */
Test(tally, the_number_that_chose_the_arm) {
    static const uint32_t weights[STATS_ARMS] = {1, 1};
    statistics_start("off", "UNSTALL_ARMS=off:1,nodelay:1", "UNSTALL_SEED=7");
    for (int fd = 20; fd < 28; fd++)
        whole_connected(fd);
    sweep(PUSH_MODE); /* gives the arms, as the first write does */
    for (int fd = 27; fd >= 20; fd--)
        exchange(fd, 1);
    for (uint32_t i = 0; i < 8; i++) {
        const struct stats_connection *r = record(i);
        uint64_t key = assignment_key(7, ASSIGN_CONNECTION, r->number, &r->peer, &r->peer);
        EXPECT_INT("record", r->serial, i + 1);
        EXPECT_INT("number", r->number, 8 - i);
        EXPECT_INT("arm", r->arm, assignment_arm(key, weights, 2));
    }
}

Test(tally, a_connection_without_bytes_has_no_row) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    close_now(5);
    EXPECT_INT("row", stats_file_mapped->row[1].state, STATS_FREE);
    EXPECT_INT("record", record(0)->state, STATS_FREE);
    for (int i = 0; i < STATS_COUNTERS; i++)
        EXPECT_INT("counter", counted(0, (enum stats_counter)i), 0);
}

/* ---- ends ------------------------------------------------------------- */

Test(tally, the_end_of_a_connection) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    exchange(5, 2);
    whole_write(5, "head");
    whole_write(5, "head");
    whole_write(5, "head");
    fake.tcp_info.segments_out = 17;
    fake.tcp_info.bytes_sent = 20;
    fake.tcp_info.bytes_queued = 3;
    time_ns += MS;
    close_now(5);
    EXPECT_INT("ended", counted(1, COUNT_CONNECTIONS_ENDED), 1);
    EXPECT_INT("segments", counted(1, COUNT_SEGMENTS), 17);
    EXPECT_INT("unseen", counted(1, COUNT_UNSEEN_BYTES), 3);
    EXPECT_INT("writes", counted(1, COUNT_WRITES), 5);
    EXPECT_INT("the open message", counted(1, COUNT_BURSTS_3), 1);
    EXPECT_INT("record", record(0)->segments, 17);
    EXPECT_INT("record", record(0)->ended_ns, time_ns);
    EXPECT_INT("record", record(0)->bytes, 20);
    uint32_t next = stats_record();
    EXPECT_INT("a new record comes first", next, 1);
}

Test(tally, no_more_bytes_than_were_seen) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    exchange(5, 2);
    fake.tcp_info.bytes_sent = 7; /* some may be lost with the connection */
    close_now(5);
    EXPECT_INT("unseen", counted(1, COUNT_UNSEEN_BYTES), 0);
}

/* Bytes written before we were loaded do not count as unseen. */
Test(tally, bytes_from_before_us) {
    statistics_start("off", NULL, NULL);
    fake.tcp_info.bytes_sent = 1000;
    fake.tcp_info.bytes_queued = 10;
    exchange(9, 1);
    fake.tcp_info.bytes_sent = 1014;
    fake.tcp_info.bytes_queued = 1;
    close_now(9);
    EXPECT_INT("unseen", counted(1, COUNT_UNSEEN_BYTES), 1);
}

Test(tally, the_process_ends) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    exchange(5, 2);
    whole_write(5, "head");
    time_ns += MS;
    stats_process_ends(true); /* replaced, but for an error */
    EXPECT_INT("counts are there", counted(1, COUNT_WRITES), 3);
    EXPECT_INT("not ended", counted(1, COUNT_CONNECTIONS_ENDED), 0);
    EXPECT_INT("the file", stats_file_mapped->header.ended_monotonic_ns, time_ns);
    stats_file_goes_on();
    EXPECT_INT("it goes on", stats_file_mapped->header.ended_monotonic_ns, 0);
    stats_process_ends(false);
    EXPECT_INT("ended", counted(1, COUNT_CONNECTIONS_ENDED), 1);
    EXPECT_INT("the file", stats_file_mapped->header.ended_monotonic_ns, time_ns);
    stats_process_ends(false);
    EXPECT_INT("once", counted(1, COUNT_CONNECTIONS_ENDED), 1);
    struct stats_row more = {.role = ROLE_LISTENER};
    EXPECT_INT("what was counted stays", record(0)->writes, 3);
    EXPECT_INT("... and its row", counted(1, COUNT_WRITES), 3);
    EXPECT_INT("no more rows", stats_row(&more), 0);
    EXPECT_INT("no more records", stats_record(), EVIDENCE_NONE);
    EXPECT_INT("lost", stats_file_mapped->header.lost_connections, 1);
}

Test(tally, a_connection_with_untracked_writes_is_counted_once) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    exchange(5, 1);
    shim_untrack(5);
    exchange(5, 1);
    exchange(5, 1);
    EXPECT_INT("untracked", counted(1, COUNT_UNTRACKED), 1);
}

/* ---- records ---------------------------------------------------------- */

Test(tally, records_are_used_again_oldest_first) {
    statistics_start("off", NULL, NULL);
    stats_meets_tcp();
    for (uint32_t i = 0; i < STATS_CONNECTIONS; i++)
        EXPECT_INT("in order", stats_record(), i);
    EXPECT_INT("none is left", stats_record(), EVIDENCE_NONE);
    EXPECT_INT("lost", stats_file_mapped->header.lost_connections, 1);
    stats_file_mapped->connection[700].writes = 4711;
    stats_record_ended(700);
    stats_record_ended(3);
    EXPECT_INT("the first that ended", stats_record(), 700);
    EXPECT_INT("serial", record(700)->serial, STATS_CONNECTIONS + 1);
    EXPECT_INT("cleared", record(700)->writes, 0);
    EXPECT_INT("being written", record(700)->state, STATS_BEING_WRITTEN);
    EXPECT_INT("then the next", stats_record(), 3);
    EXPECT_INT("no more", stats_record(), EVIDENCE_NONE);
}

Test(tally, a_connection_without_a_record) {
    statistics_start("off", NULL, NULL);
    stats_meets_tcp();
    while (stats_record() != EVIDENCE_NONE) {
    }
    whole_connected(5);
    exchange(5, 2);
    close_now(5);
    EXPECT_INT("counted", counted(1, COUNT_EXCHANGES), 1);
    EXPECT_INT("ended", counted(1, COUNT_CONNECTIONS_ENDED), 1);
    EXPECT_INT("lost", stats_file_mapped->header.lost_connections, 2);
}

Test(tally, the_end_of_a_listener_counts_nothing) {
    statistics_start("off", NULL, NULL);
    stats_meets_tcp();
    shim_socket_made(3, AF_INET, SOCK_STREAM, 0);
    shim_listens(3);
    close_now(3);
    for (int i = 0; i < STATS_COUNTERS; i++)
        EXPECT_INT("counter", counted(0, (enum stats_counter)i), 0);
}

Test(tally, none_without_a_wish) {
    statistics_start("off", NULL, NULL); /* for the folder */
    whole_start_in(MODE_OFF);
    stats_meets_tcp();
    EXPECT(!stats_file_mapped && !stats_ever_made());
}

/* ---- the file --------------------------------------------------------- */

Test(tally, its_header) {
    statistics_start("nodelay", "UNSTALL_WINDOW_US=2500", "UNSTALL_STACKS=0");
    EXPECT_INT("not before TCP", stats_file_mapped != NULL, 0);
    whole_connected(5);
    whole_write(5, "x");
    const struct stats_file *s = stats_file_mapped;
    ASSERT(s);
    EXPECT_TEXT("magic", s->header.magic, STATS_MAGIC);
    EXPECT_INT("version", s->header.version, STATS_VERSION);
    EXPECT_INT("size", s->header.header_bytes, sizeof(s->header));
    EXPECT_INT("size", s->header.bytes, STATS_BYTES);
    EXPECT_INT("pid", s->header.pid, getpid());
    EXPECT_INT("parent", s->header.parent, getppid());
    EXPECT_INT("mode", s->header.mode, MODE_NODELAY);
    EXPECT_INT("window", s->header.window_us, 2500);
    EXPECT_INT("stacks", s->header.stacks_off, 1);
    EXPECT_INT("started", s->header.started_monotonic_ns, time_ns);
    EXPECT_INT("runs", s->header.ended_monotonic_ns, 0);
    EXPECT(s->header.loaded_monotonic_ns); /* by the library's constructor */
    EXPECT_TEXT("library", s->header.library, UNSTALL_VERSION);
    EXPECT(strstr(s->header.program, "test-tally"));
    EXPECT_INT("control", s->control.version, CONTROL_VERSION);
    EXPECT_INT("control", s->control.mode, CONTROL_KEEP);
    EXPECT_INT("ever", stats_ever_made(), 1);
}

Test(tally, a_forked_child_has_another_file) {
    statistics_start("off", NULL, NULL);
    struct conn *c = whole_connected(5);
    exchange(5, 2);
    statistics_end();
    mkdir(statistics_folder, 0700);
    time_ns += 50 * MS;
    void *parents = stats_file_mapped;
    stats_file_forked();
    EXPECT_INT("none", stats_file_mapped != NULL, 0);
    EXPECT(msync(parents, 1, MS_ASYNC) != 0 && errno == ENOMEM); /* it is not mapped */
    conn_repaired(c);
    exchange(5, 3);
    ASSERT(stats_file_mapped);
    EXPECT_INT("loaded", stats_file_mapped->header.loaded_monotonic_ns, time_ns - 10 * MS);
    EXPECT_INT("messages of its own", counted(1, COUNT_EXCHANGES), 1);
    EXPECT_INT("bursts of its own", counted(1, COUNT_BURSTS_3), 1);
    EXPECT_INT("small writes of its own", counted(1, COUNT_SMALL_WRITES), 3);
    EXPECT_INT("serial", record(0)->serial, 1);
    EXPECT_INT("the first write of the child", counted(1, COUNT_FIRST_WRITES), 1);
}
