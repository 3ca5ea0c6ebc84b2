/* SPDX-License-Identifier: MIT
 *
 * Stalls that the library finds, its own and its peer's, by numbers of TCP_INFO that the test gives and a
 * clock that the test moves; the call sites of their writes; and the report.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "evidence.h"
#include "statistics.h"

TestSuite(evidence, .fini = statistics_end, .timeout = 20);

static struct conn *c;

static void start(const char *mode, const char *more, const char *another) {
    statistics_start(mode, more, another);
    c = whole_connected(5);
}

static uint64_t found(enum stats_counter what) {
    return c->evidence->found[what - COUNT_SUSPECTS];
}

/* As TCP_INFO is just after a small write behind one that is not acknowledged. */
static void body_is_kept_back(void) {
    fake.tcp_info = (struct kernel_tcp_info){.bytes_sent = 4, .bytes_queued = 4, .unacked = 1, .cwnd = 10,
                                             .window = 65536, .mss = 1460, .segments_out = 1};
}

/* It left `ago_ms` before now. */
static void body_has_left(uint32_t ago_ms) {
    fake.tcp_info.bytes_sent += fake.tcp_info.bytes_queued;
    fake.tcp_info.bytes_queued = 0;
    fake.tcp_info.segments_out++;
    fake.tcp_info.last_sent_ms = ago_ms;
}

static void message(void) {
    whole_write(5, "head");
    body_is_kept_back();
    whole_write(5, "body");
}

/* ---- our own stall ---------------------------------------------------- */

Test(evidence, a_stall_is_proved_at_the_next_input) {
    start("observe", NULL, NULL);
    message();
    EXPECT_INT("suspects", found(COUNT_SUSPECTS), 1);
    EXPECT(c->evidence->suspect);
    time_ns += 50 * MS;
    body_has_left(7);
    whole_read(5, 100);
    EXPECT_INT("proved", found(COUNT_STALLS_PROVED), 1);
    EXPECT_INT("time", found(COUNT_STALL_NS), 43 * MS);
    EXPECT_INT("bounds", found(COUNT_STALLS_BOUND), 0);
    EXPECT_INT("suspected", found(COUNT_STALLS_SUSPECTED), 0);
    EXPECT_INT("cured", found(COUNT_STALLS_CURED), 0);
    EXPECT(!c->evidence->suspect);
    EXPECT_INT("in the file", counted(1, COUNT_STALLS_PROVED), 1);
    EXPECT_INT("in the file", counted(1, COUNT_STALL_NS), 43 * MS);
    EXPECT_INT("in the file", counted(1, COUNT_SUSPECTED), 1);
    EXPECT_INT("record", stats_file_mapped->connection[0].stalls_proved, 1);
    EXPECT_INT("record", stats_file_mapped->connection[0].stall_ns, 43 * MS);
    whole_read(5, 100);
    EXPECT_INT("once", counted(1, COUNT_STALLS_PROVED), 1);
    message();
    time_ns += 45 * MS;
    body_has_left(1);
    whole_read(5, 100);
    EXPECT_INT("the next one", counted(1, COUNT_STALLS_PROVED), 2);
    EXPECT_INT("their time", counted(1, COUNT_STALL_NS), 87 * MS);
}

Test(evidence, nothing_kept_back_is_no_stall) {
    start("observe", NULL, NULL);
    whole_write(5, "head");
    whole_write(5, "body");
    EXPECT_INT("asked", found(COUNT_SUSPECTS), 1);
    EXPECT(!c->evidence->suspect);
    time_ns += 50 * MS;
    fake_log();
    whole_read(5, 100);
    EXPECT(!strstr(fake_log(), "info"));
    EXPECT_INT("proved", counted(1, COUNT_STALLS_PROVED), 0);
}

Test(evidence, one_look_a_message) {
    start("observe", NULL, NULL);
    whole_write(5, "head");
    whole_write(5, "more");
    body_is_kept_back();
    whole_write(5, "body");
    whole_write(5, "body");
    EXPECT_INT("the first suspicious write", found(COUNT_SUSPECTS), 1);
    EXPECT(!c->evidence->suspect);
    whole_read(5, 100);
    fake.tcp_info = (struct kernel_tcp_info){0};
    whole_write(5, "head");
    whole_write(5, "more");
    EXPECT_INT("not the first", found(COUNT_SUSPECTS), 1);
    body_is_kept_back();
    whole_write(5, "body");
    EXPECT_INT("the second", found(COUNT_SUSPECTS), 2);
    EXPECT(c->evidence->suspect);
    whole_read(5, 100);
    EXPECT(c->evidence->suspect); /* still held: that input is older */
    body_has_left(0);
    whole_read(5, 100);
    whole_write(5, "head");
    whole_write(5, "more");
    EXPECT_INT("there it stays", found(COUNT_SUSPECTS), 2);
    whole_write(5, "body");
    EXPECT_INT("the second again", found(COUNT_SUSPECTS), 3);
}

Test(evidence, a_later_write_settles_it) {
    start("observe", NULL, NULL);
    message();
    time_ns += 19 * MS;
    whole_write(5, "soon");
    EXPECT(c->evidence->suspect);
    EXPECT_INT("the last write", c->evidence->times.last_written, time_ns);
    time_ns += 26 * MS;
    body_has_left(1);
    whole_write(5, "late");
    EXPECT_INT("proved", found(COUNT_STALLS_PROVED), 1);
    EXPECT_INT("time", found(COUNT_STALL_NS), 44 * MS);
}

Test(evidence, the_end_settles_it) {
    start("observe", NULL, NULL);
    message();
    time_ns += 44 * MS;
    body_has_left(0);
    shim_closing(5);
    EXPECT_INT("proved", counted(1, COUNT_STALLS_PROVED), 1);
}

Test(evidence, a_bound_where_more_has_left) {
    start("observe", NULL, NULL);
    message();
    time_ns += 50 * MS;
    body_has_left(0);
    fake.tcp_info.segments_out++;
    whole_read(5, 100);
    EXPECT_INT("bounds", counted(1, COUNT_STALLS_BOUND), 1);
    EXPECT_INT("time", counted(1, COUNT_STALL_BOUND_NS), 50 * MS);
    EXPECT_INT("proved", counted(1, COUNT_STALLS_PROVED), 0);
    EXPECT_INT("record", stats_file_mapped->connection[0].stall_bound_ns, 50 * MS);
}

Test(evidence, a_loss_makes_it_suspected) {
    start("observe", NULL, NULL);
    message();
    time_ns += 50 * MS;
    body_has_left(0);
    fake.tcp_info.retransmissions = 1;
    whole_read(5, 100);
    EXPECT_INT("suspected", counted(1, COUNT_STALLS_SUSPECTED), 1);
    EXPECT_INT("proved", counted(1, COUNT_STALLS_PROVED), 0);
    EXPECT_INT("record", stats_file_mapped->connection[0].stalls_suspected, 1);
}

/* A stream of events has no input: a pause begins the next one. */
Test(evidence, events_without_answers) {
    start("observe", NULL, NULL);
    for (int i = 0; i < 3; i++, time_ns += 100 * MS)
        message();
    EXPECT_INT("one look each", found(COUNT_SUSPECTS), 3);
}

Test(evidence, a_cured_message_counts_once) {
    start("nodelay", NULL, NULL);
    for (int i = 0; i < 4; i++) {
        whole_write(5, "head");
        time_ns += 39 * MS;
        whole_write(5, "body");
        whole_write(5, "tail");
        whole_read(5, 100);
    }
    EXPECT_INT("cured", counted(1, COUNT_STALLS_CURED), 4);
    EXPECT_INT("record", stats_file_mapped->connection[0].stalls_cured, 4);
    whole_write(5, "head");
    time_ns += 40 * MS; /* it has been acknowledged */
    whole_write(5, "body");
    whole_read(5, 100);
    EXPECT_INT("not one that would not have stalled", counted(1, COUNT_STALLS_CURED), 4);
    whole_write(5, "alone");
    whole_read(5, 100);
    EXPECT_INT("nor a single write", counted(1, COUNT_STALLS_CURED), 4);
    EXPECT_INT("TCP_INFO is not asked", counted(1, COUNT_SUSPECTS), 0);
}

Test(evidence, off_cures_nothing) {
    start("off", NULL, NULL);
    for (int i = 0; i < 4; i++) {
        message();
        whole_read(5, 100);
    }
    EXPECT_INT("cured", counted(1, COUNT_STALLS_CURED), 0);
    EXPECT_INT("suspects", counted(1, COUNT_SUSPECTS), 0);
}

Test(evidence, nor_is_the_applications_own_nodelay_a_cure) {
    int on = 1;
    start("nodelay", NULL, NULL);
    shim_option_set(5, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    for (int i = 0; i < 4; i++) {
        message();
        whole_read(5, 100);
    }
    EXPECT_INT("cured", counted(1, COUNT_STALLS_CURED), 0);
}

/* ---- the peer's stall ------------------------------------------------- */

static void peers_message(uint64_t gap_ms) {
    whole_read(5, 10);
    time_ns += gap_ms * MS;
    whole_read(5, 10);
    whole_write(5, "answer");
    time_ns += 5 * MS;
}

Test(evidence, the_peers_stalls) {
    start("observe", NULL, NULL);
    whole_write(5, "hello");
    peers_message(40);
    EXPECT_INT("not the first", found(COUNT_PEER_STALLS), 0);
    peers_message(40);
    EXPECT_INT("but the second, and both", found(COUNT_PEER_STALLS), 2);
    EXPECT_INT("time", found(COUNT_PEER_STALL_NS), 80 * MS);
    whole_read(5, 10);
    EXPECT_INT("in the file", counted(1, COUNT_PEER_STALLS), 2);
    EXPECT_INT("record", stats_file_mapped->connection[0].peer_stalls, 2);
    EXPECT_INT("nothing was set", found(COUNT_QUICKACKS), 0);
}

/* The bytes had arrived long before the read: the program was late itself. */
Test(evidence, no_stall_of_the_peer) {
    start("observe", NULL, NULL);
    whole_write(5, "hello");
    fake.tcp_info.last_received_ms = 30;
    for (int i = 0; i < 3; i++)
        peers_message(40);
    EXPECT_INT("stalls", found(COUNT_PEER_STALLS), 0);
}

Test(evidence, quickack_is_set_and_its_saving_counted) {
    start("off", "UNSTALL_QUICKACK=auto", NULL);
    whole_write(5, "hello");
    for (int i = 0; i < 3; i++)
        peers_message(40);
    EXPECT_INT("off does not", found(COUNT_QUICKACKS), 0);
    EXPECT_INT("nor look", found(COUNT_PEER_STALLS), 0);
}

Test(evidence, quickack_in_observe) {
    start("observe", "UNSTALL_QUICKACK=auto", NULL);
    whole_write(5, "hello");
    peers_message(40);
    peers_message(40);
    fake_log();
    peers_message(1);
    EXPECT(strstr(fake_log(), "set(5,1)"));
    EXPECT_INT("set", found(COUNT_QUICKACKS), 2);
    EXPECT_INT("saved", found(COUNT_QUICKACK_SAVED_NS), 39 * MS);
}

/* ---- call sites ------------------------------------------------------- */

enum { HEAD = 0x1000, BODY = 0x2000 };

static void write_from(uintptr_t caller) {
    shim_write_fast(5, "data", 4, 0, FORM_WRITE, caller);
}

static void message_from(uintptr_t first, uintptr_t second) {
    write_from(first);
    body_is_kept_back();
    write_from(second);
    time_ns += 50 * MS;
    body_has_left(6);
    whole_read(5, 100);
}

Test(evidence, a_pair_of_call_sites) {
    start("observe", NULL, NULL);
    for (int i = 0; i < 3; i++)
        message_from(HEAD, BODY);
    message_from(HEAD, BODY + 8);
    const struct stats_pattern *p = stats_file_mapped->pattern;
    EXPECT_INT("state", p->state, STATS_VALID);
    EXPECT_INT("first", p->caller[0], HEAD);
    EXPECT_INT("second", p->caller[1], BODY);
    EXPECT_INT("row", p->row, 1);
    EXPECT_INT("count", p->count, 3);
    EXPECT_INT("stalls", p->stalls, 3);
    EXPECT_INT("time", p->stall_ns, 3 * 44 * MS);
    EXPECT_INT("another pair", p[1].caller[1], BODY + 8);
    EXPECT_INT("its count", p[1].count, 1);
    EXPECT_INT("no more", p[2].state, STATS_FREE);
    for (int i = 0; i < 3; i++) {
        const struct stats_occurrence *o = &p->occurrence[i];
        EXPECT_INT("occurrence", o->state, STATS_VALID);
        EXPECT_INT("bytes", o->write[0].bytes, 4);
        EXPECT_INT("descriptor", o->write[1].fd, 5);
        EXPECT_INT("thread", o->write[0].thread, gettid());
        cr_expect(o->write[0].stack_bytes > 100 && o->write[1].stack_bytes > 100, "a stack");
        cr_expect(o->write[0].register_count > 0, "registers");
    }
    EXPECT_INT("the fourth", p->occurrence[3].state, STATS_FREE);
    EXPECT_INT("modules", stats_file_mapped->module[0].state, STATS_VALID);
}

/* A reader knows the file again by its beginning. */
Test(evidence, the_module_of_a_call_site) {
    static unsigned char head[STATS_HEAD];
    start("observe", NULL, NULL);
    message_from(HEAD, BODY);
    int own = 0, file = open("/proc/self/exe", O_RDONLY);
    ASSERT(file >= 0 && read(file, head, sizeof(head)) == sizeof(head));
    close(file);
    for (const struct stats_module *m = stats_file_mapped->module; m->state == STATS_VALID; m++) {
        uintptr_t here = (uintptr_t)message_from;
        if (here < m->start || here >= m->end)
            continue;
        own++;
        EXPECT(strstr(m->path, "test-evidence"));
        EXPECT_INT("its beginning", m->head, stats_hash(0, head, sizeof(head)));
    }
    EXPECT_INT("modules that have this function", own, 1);
}

/* Other filters than ours may end a process for process_vm_readv(2). */
Test(evidence, a_stack_under_an_inherited_filter) {
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, all};
    ASSERT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        cr_skip_test("no filters here");
    char copy[6000] = "";
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT(page != MAP_FAILED);
    memset(page, 'a', 8192);
    EXPECT_INT("all", snapshot_peek(copy, (uintptr_t)page, 6000), 6000);
    EXPECT(copy[0] == 'a' && copy[5999] == 'a');
    ASSERT(mprotect(page + 4096, 4096, PROT_NONE) == 0);
    memset(copy, 0, sizeof(copy));
    EXPECT_INT("what can be read", snapshot_peek(copy, (uintptr_t)page, 6000), 6000 - 4096);
    EXPECT(copy[0] == 'a' && copy[6000 - 4096] == 0);
    EXPECT_INT("nothing", snapshot_peek(copy, (uintptr_t)page + 4096, 100), 0);
}

Test(evidence, occurrences_are_bounded) {
    start("observe", NULL, NULL);
    for (int i = 0; i < STATS_OCCURRENCES + 3; i++)
        message_from(HEAD, BODY);
    const struct stats_pattern *p = stats_file_mapped->pattern;
    EXPECT_INT("counted", p->count, STATS_OCCURRENCES + 3);
    EXPECT_INT("the last kept", p->occurrence[STATS_OCCURRENCES - 1].state, STATS_VALID);
    EXPECT_INT("the next pattern", p[1].state, STATS_FREE);
}

Test(evidence, patterns_are_bounded) {
    start("observe", NULL, NULL);
    for (int i = 0; i < STATS_PATTERNS + 2; i++)
        message_from(HEAD, BODY + 8 * (uintptr_t)i);
    EXPECT_INT("lost", stats_file_mapped->header.lost_patterns, 2);
    EXPECT_INT("the last kept", stats_file_mapped->pattern[STATS_PATTERNS - 1].count, 1);
    message_from(HEAD, BODY);
    EXPECT_INT("a known one still counts", stats_file_mapped->pattern[0].count, 2);
}

/* A call site with messages of one write: after 16 of them its stack is no longer kept. */
Test(evidence, single_writes_are_no_longer_sampled) {
    start("observe", NULL, NULL);
    for (int i = 0; i < 15; i++) {
        write_from(HEAD);
        whole_read(5, 100);
    }
    write_from(HEAD);
    EXPECT(c->evidence->first.kept != EVIDENCE_NONE);
    whole_read(5, 100);
    write_from(HEAD);
    EXPECT(c->evidence->first.kept == EVIDENCE_NONE);
    write_from(BODY); /* resumes it */
    whole_read(5, 100);
    EXPECT_INT("counted", stats_file_mapped->pattern[0].count, 1);
    EXPECT_INT("without a first write", stats_file_mapped->pattern[0].occurrence[0].state, STATS_FREE);
    message_from(HEAD, BODY);
    EXPECT_INT("with it", stats_file_mapped->pattern[0].occurrence[0].state, STATS_VALID);
}

Test(evidence, no_call_sites_if_the_user_says_so) {
    start("observe", "UNSTALL_STACKS=0", NULL);
    message_from(HEAD, BODY);
    EXPECT_INT("none", stats_file_mapped->pattern[0].state, STATS_FREE);
    EXPECT_INT("proved all the same", counted(1, COUNT_STALLS_PROVED), 1);
}

Test(evidence, none_of_an_unknown_caller) {
    start("observe", NULL, NULL);
    message_from(0, BODY);
    message_from(HEAD, 0);
    EXPECT_INT("none", stats_file_mapped->pattern[0].state, STATS_FREE);
}

Test(evidence, a_child_samples_anew) {
    start("observe", NULL, NULL);
    for (int i = 0; i < 16; i++) {
        write_from(HEAD);
        whole_read(5, 100);
    }
    stacks_forked();
    write_from(HEAD);
    EXPECT(c->evidence->first.kept != EVIDENCE_NONE);
}

/* ---- the report ------------------------------------------------------- */

static const char *report_of(const char *suffix) {
    static char text[8192], path[128], setting[160];
    snprintf(path, sizeof(path), "/dev/shm/unit-report-%d%s", getpid(), suffix);
    snprintf(setting, sizeof(setting), "UNSTALL_REPORT=%s", path);
    start("nodelay", setting, NULL);
    for (int i = 0; i < 3; i++) {
        message();
        whole_read(5, 100);
    }
    fake.tcp_info.segments_out = 6;
    shim_closing(5);
    whole_connected(6);
    whole_write(6, "open");
    whole_read(6, 10); /* as many reads as writes */
    whole_connected(7); /* without bytes */
    fake.tcp_info.segments_out = 1;
    stats_report();
    cr_assert(unit_read(path, text, sizeof(text)), "no report");
    unlink(path);
    return text;
}

static void expect_in(const char *text, const char *part) {
    cr_expect(strstr(text, part), "no %s in %s", unit_plain(part), unit_plain(text));
}

Test(evidence, the_report_as_text) {
    const char *text = report_of("");
    expect_in(text, "mode nodelay");
    expect_in(text, "  connections: 2 (");
    expect_in(text, "  bytes: 28 (");
    expect_in(text, "  segments: 7 (");
    expect_in(text, "  writes: 7 (");
    expect_in(text, "  reads: 4 (");
    expect_in(text, "  bursts: 3 (");
    expect_in(text, "  late_pushes: 1 (");
    expect_in(text, "  stalls_cured: 3 (");
    cr_expect(!strstr(text, "held_writes"), "a counter of zero");
    cr_expect(!strstr(text, "exchanges:"), "a counter of the statistics alone");
}

Test(evidence, the_report_as_json) {
    const char *text = report_of(".json");
    expect_in(text, "{\"unstall\": \"" UNSTALL_VERSION "\", \"pid\": ");
    expect_in(text, "\"program\": \"prog\", \"mode\": \"nodelay\", \"connections\": 2, \"bytes\": 28");
    expect_in(text, "\"segments\": 7, ");
    expect_in(text, "\"pushes\": {\"wait\": 0, \"read\": 0");
    expect_in(text, "\"application\": 0}, \"suspects\": 0");
    expect_in(text, "\"quickack_saved_ns\": 0}\n");
}

Test(evidence, a_report_that_cannot_be_written_goes_to_stderr) {
    static char text[8192];
    int before = dup(STDERR_FILENO), file = memfd_create("report", 0);
    start("nodelay", "UNSTALL_REPORT=/dev/shm/unit-none/report", NULL);
    whole_write(5, "data");
    ASSERT(before >= 0 && file >= 0 && dup2(file, STDERR_FILENO) == STDERR_FILENO);
    stats_report();
    dup2(before, STDERR_FILENO);
    text[pread(file, text, sizeof(text) - 1, 0)] = '\0';
    expect_in(text, "UNSTALL_REPORT=/dev/shm/unit-none/report: cannot be written (errno 2)");
    expect_in(text, "  writes: 1 (");
}

Test(evidence, a_child_reports_its_own_alone) {
    static char setting[160], path[128], text[4096];
    snprintf(path, sizeof(path), "/dev/shm/unit-report-%d", getpid());
    snprintf(setting, sizeof(setting), "UNSTALL_REPORT=%s", path);
    start("nodelay", setting, NULL);
    whole_write(5, "data");
    shim_closing(5);
    stats_forked();
    stats_report();
    cr_assert(unit_read(path, text, sizeof(text)), "no report");
    unlink(path);
    cr_expect(!strstr(text, "writes"), "%s", unit_plain(text));
}
