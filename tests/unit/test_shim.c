/* SPDX-License-Identifier: MIT
 *
 * What another thread does while a call is under way, at exactly that moment; and options that a kernel may
 * lack.  tests/preload, torture and company show all else of the road of a call.
 */
#include <errno.h>
#include <netinet/in.h>
#include <linux/tcp.h>

#include "buffered.h"
#include "config.h"
#include "statistics.h"
#include "turn.h"

/* ---- another thread closes it, and its place in the pool is another's, or free ------------- */

static bool by_another;

static void goes_away(void) {
    shim_closing(5);
    self.turn = NULL; /* another thread has closed it */
    if (by_another)
        whole_connected(6); /* in the same place */
}

static ssize_t writes(void) {
    fake_real.meanwhile = goes_away;
    return whole_write(5, "abc");
}

static ssize_t writes_a_vector(void) {
    struct iovec parts[] = {{(char[]){"a"}, 1}, {(char[]){"bc"}, 2}};
    fake_real.meanwhile = goes_away;
    return shim_write(&(struct write_request){.fd = 5, .form = FORM_WRITEV, .iov = parts, .iov_count = 2});
}

static ssize_t moves(void) {
    struct call call;
    EXPECT(shim_bulk_begins(5, 0, false, &call) == BULK_GOES);
    goes_away();
    ssize_t moved = fake_real.answers[0] ? fake_real.answers[0] : 3;
    errno = moved < 0 ? (int)-moved : errno;
    shim_bulk_ended(call, 5, 1, moved, false, 0);
    return moved < 0 ? -1 : moved;
}

static ssize_t reads(void) {
    struct call call = shim_read_begins(5, true);
    goes_away();
    ssize_t got = fake_real.answers[0] ? fake_real.answers[0] : 3;
    errno = got < 0 ? (int)-got : errno;
    if (by_another)
        fds_conn(fds_word(6))->pending_error = ETIMEDOUT;
    return shim_read_ends(call, got < 0 ? -1 : got, 100);
}

static const struct {
    const char *name;
    ssize_t answer, result;
} answers[] = {{"all", 0, 3}, {"a part", 2, 2}, {"no room", -EAGAIN, -1}, {"a reset", -ECONNRESET, -1}};

static void expect_untouched(const char *name, const struct conn *c) {
    EXPECT_INT(name, self.depth, 0);
    EXPECT_INT(name, fds_word(5), FDS_UNKNOWN);
    EXPECT(!self.turn && !self.locked && !(LOAD(&c->lock) & 3));
    EXPECT_INT(name, c->refs, by_another);
    EXPECT_INT(name, c->counts.writes + c->counts.reads + c->counts.bytes, 0);
    EXPECT(!c->held && !c->buffer && !c->policy.refuses && !c->policy.input_ever);
    EXPECT_INT(name, c->policy.established, by_another);
}

/* The call gives what the kernel said of it, and tells the other connection nothing. */
Test(shim, a_connection_that_is_closed_during_a_call) {
    static const enum mode modes[] = {MODE_OBSERVE, MODE_NODELAY, MODE_CORK, MODE_AUTO, MODE_OFF};
    static ssize_t (*const calls[])(void) = {moves, reads, writes, writes_a_vector};
    for (size_t m = 0; m < ARRAY_SIZE(modes); m++)
        for (size_t i = 0; i < ARRAY_SIZE(calls) * ARRAY_SIZE(answers) * 2; i++) {
            size_t row = i / 2 % ARRAY_SIZE(answers), call = i / 2 / ARRAY_SIZE(answers);
            bool passes = modes[m] == MODE_OFF || modes[m] == MODE_OBSERVE;
            if (passes && call >= 2 && answers[row].answer >= 0)
                continue; /* the sent bytes are counted, also if the number has a new socket by then */
            by_another = i & 1;
            whole_start_in(modes[m]);
            const struct conn *c = whole_connected(5);
            fake_real.answers[0] = answers[row].answer;
            errno = 4711;
            EXPECT_INT(answers[row].name, calls[call](), answers[row].result);
            EXPECT_INT(answers[row].name, errno, answers[row].answer < 0 ? -answers[row].answer : 4711);
            expect_untouched(answers[row].name, c);
            if (by_another)
                fds_conn(fds_word(6))->pending_error = 0;
            shim_closing(6);
        }
}

/* A handler writes to another connection, between the look at the open turn and the lock.  Nobody ended its
 * turn then, whose bytes stayed for the kernel's 200 ms. */
Test(shim, a_handlers_turn_in_between) {
    for (int resumes = 0; resumes < 2; resumes++) {
        whole_start_in(MODE_CORK);
        struct conn *c = whole_connected(5), *handlers = whole_connected(6);
        whole_write(6, "head");
        EXPECT(self.turn == handlers && handlers->held);
        ASSERT(conn_lock(c));
        hold_give_up_other(c);
        resumes ? hold_resume_turn(c) : hold_join_turn(c);
        EXPECT(self.locked == c && self.depth == 1);
        conn_unlock(c);
        EXPECT(self.turn == c && !handlers->held && !handlers->aside);
        self.turn = NULL;
    }
}

/* The reader leaves its turn without the lock, so just after the close.  That was taken for the end of a turn
 * on the free place: the rest of the list of free ones was lost. */
Test(shim, a_turn_that_is_left_after_the_close) {
    for (ssize_t got = -1; got <= 1; got++) {
        whole_start_in(MODE_AUTO);
        struct conn *c = whole_connected(5), *other = whole_connected(6);
        shim_closing(6);
        struct call call = shim_read_begins(5, true);
        shim_closing(5);
        STORE(&c->turn_end, TURN_ENDED_UNLOCKED);
        errno = EBADF;
        shim_read_ends(call, got, 100);
        EXPECT(c->next_free == other);
    }
}

/* ---- another thread reads the answer before the write is counted ---------------------------- */

static void the_answer_comes(void) {
    time_ns += 2 * MS;
    whole_read(5, 100);
    time_ns += 9 * MS;
}

/* The message is over, and its time is known. */
Test(shim, answered_within_the_write, .fini = statistics_end) {
    static const char *const passing[] = {"off", "observe"};
    for (size_t i = 0; i < ARRAY_SIZE(passing) * 2; i++) {
        bool open = i & 1;
        statistics_start(passing[i / 2], NULL, NULL);
        struct conn *c = whole_connected(5);
        if (open)
            whole_write(5, "head");
        struct iovec part = {(char[]){"body"}, 4};
        fake_real.meanwhile = the_answer_comes;
        shim_write(&(struct write_request){.fd = 5, .form = FORM_WRITEV, .iov = &part, .iov_count = 1});
        EXPECT_INT(passing[i / 2], c->policy.message_bytes, 0);
        EXPECT_INT(passing[i / 2], c->counts.writes, 1 + open);
        EXPECT_INT(passing[i / 2], c->counts.messages, 1);
        EXPECT_INT(passing[i / 2], c->counts.bytes, open ? 8 : 4);
        EXPECT_INT(passing[i / 2], counted(1, COUNT_EXCHANGES), 1);
        EXPECT_INT(passing[i / 2], counted(1, COUNT_EXCHANGE_NS), 2 * MS);
        time_ns += 4 * MS;
        whole_write(5, "next");
        whole_read(5, 1);
        EXPECT_INT("since that input", counted(1, COUNT_ANSWER_NS), 13 * MS);
        EXPECT_INT("first writes", counted(1, COUNT_FIRST_WRITES), 1);
        shim_closing(5);
        statistics_end();
        stats_file_forked(); /* the next one has a file of its own */
    }
    whole_start_in(MODE_OFF); /* without statistics it counts without the lock */
    struct conn *c = whole_connected(5);
    struct iovec part = {(char[]){"body"}, 4};
    fake_real.meanwhile = the_answer_comes;
    shim_write(&(struct write_request){.fd = 5, .form = FORM_WRITEV, .iov = &part, .iov_count = 1});
    EXPECT(c->policy.message_bytes == 0 && c->counts.messages == 1 && c->counts.bytes == 4);
}

/* ---- behind buffered bytes for which the kernel has no room (behind.c) --------------------- */

/* A blocking write that a signal ends returns the number of sent bytes: a second call would block again. */
Test(shim, interrupted_behind_buffered_bytes_it_is_short) {
    whole_start_in(MODE_COALESCE);
    whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    fake.sends[fake.send_count] = 5;
    fake_real.answers[fake_real.count] = 1000;
    EXPECT_INT("two with the buffered, a thousand by the second call", whole_write_long(5, 5000),
               1002);
    const char *log = fake_log();
    cr_expect(strstr(log, "send(5,abcxx") && strstr(log, " SENDMSG(5,xx"), "%s", log);
    cr_expect(!strstr(strstr(log, "SENDMSG") + 1, "SENDMSG"), "it blocked again: %s", log);
    EXPECT_INT("on the wire", fake.wire.used, 1005);
}

static void flush_blocked(const char *bytes) {
    EXPECT_INT("buffered", whole_write(5, bytes), strlen(bytes));
    fake.sends[fake.send_count] = -EAGAIN;
    hold_end_turn(PUSH_WAIT);
    struct conn *c = fds_conn(fds_word(5));
    ASSERT(c && c->flush_blocked);
    c->policy.mss = 1460; /* asked already */
    fake_log();
}

/* MSG_MORE behind bytes that found no room must not hold them too. */
Test(shim, what_is_stuck_leaves_before_the_applications_own_hold) {
    whole_start_in(MODE_COALESCE);
    whole_warm(5);
    flush_blocked("abc");
    fake.sends[fake.send_count] = -EAGAIN;
    EXPECT_INT("taken", whole_send(5, "x", MSG_MORE), 1);
    EXPECT_TEXT("apart", fake_log(), "send(5,abc) send(5,abc) SEND_MORE(5,x)");
    EXPECT_TEXT("in order", fake.wire_buffer, "abcx");
}

/* The kernel takes a part: it has no room for the next bytes, so they are not buffered. */
Test(shim, after_a_part_nothing_is_buffered) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    EXPECT(policy_knows_sndbuf(&c->policy));
    fake.non_blocking = true;
    fake.sends[fake.send_count] = 13;
    EXPECT_INT("what fits", whole_write_long(5, 5000), 10);
    fake_log();
    EXPECT_INT("written", whole_write(5, "abc"), 3);
    cr_expect(strstr(fake_log(), "WRITE(5,abc)"), "by the kernel");
}

static struct conn *drained;

/* The window finds that the number is another's while a thread sends from the buffer: the buffer stays until
 * the call has returned. */
static void the_window_finds_another(void) {
    ASSERT(conn_lock(drained));
    fake.cookie = 99;
    hold_window_ends(drained);
    EXPECT_INT("still there", buffer_length(drained), 6);
    conn_unlock(drained);
}

Test(shim, a_buffer_stays_while_a_thread_sends_from_it) {
    whole_start_in(MODE_COALESCE);
    drained = whole_warm(5);
    flush_blocked("abcdef");
    fake.sends[fake.send_count] = -EAGAIN;
    fake_real.meanwhile = the_window_finds_another;
    fake_real.answers[fake_real.count] = 2;
    EXPECT_INT("all", whole_write_long(5, 5000), 5000);
    const char *log = fake_log();
    cr_expect(strstr(log, " SENDMSG(5,ab") && !strstr(log, "(5,cdef"), "to another: %s", log);
    EXPECT_INT("depth", self.depth, 0);
}

/* ---- listeners and ports ------------------------------------------------------------------- */

Test(shim, a_listener_has_no_option_of_ours) {
    whole_start_in(MODE_NODELAY);
    struct conn *c = whole_connected(3);
    c->policy.nodelay = true; /* ours, for a stdio stream */
    shim_listens(3);
    EXPECT_TEXT("given back", fake_log(), "nodelay(3,0)");
}

/* UNSTALL_PORTS names the port of the server's side, also where we are the client. A connection met late may
 * be of either side. */
enum origin_seen { CONNECTED, ACCEPTED, INHERITED };
static const struct {
    const char *name;
    enum origin_seen origin;
    uint16_t peer, local;
    bool included;
} filters[] = {
    {"a client of the port", CONNECTED, 80, 5000, true},
    {"a client from the port", CONNECTED, 5000, 80, false},
    {"a server's, on the port", ACCEPTED, 5000, 80, true},
    {"a server's, its client from the port", ACCEPTED, 80, 5000, false},
    {"inherited, a client of the port", INHERITED, 80, 5000, true},
    {"inherited, a server's", INHERITED, 5000, 80, true},
    {"inherited, of other ports", INHERITED, 5000, 5001, false},
};

Test(shim, ports_are_the_servers) {
    EACH_ROW(row, filters) {
        whole_start((const char *const[]){"UNSTALL_MODE=nodelay", "UNSTALL_PORTS=80", NULL});
        fake.protocol = IPPROTO_TCP;
        fake.peer_port = row->peer;
        fake.local_port = row->local;
        fds_forget(6);
        if (row->origin == CONNECTED)
            whole_connected(6);
        if (row->origin == ACCEPTED) { /* an inherited descriptor is met at its first use */
            shim_socket_made(3, AF_INET, SOCK_STREAM, 0);
            shim_listens(3);
            shim_accepted(3, 6);
        }
        struct conn *c = shim_lock_fd(6);
        ASSERT(c);
        EXPECT_INT(row->name, c->policy.mode, row->included ? MODE_NODELAY : MODE_OFF);
        conn_unlock(c);
        shim_closing(6);
        shim_closing(3);
    }
}

/* ---- options by which a program tells its writes apart ------------------------------------ */

static const struct {
    const char *name;
    int level, option, value;
    bool never_hold;
} apart[] = {
    {"none", SOL_SOCKET, SO_KEEPALIVE, 1, false},
    {"SO_TIMESTAMPING, off", SOL_SOCKET, SO_TIMESTAMPING, 0, false},
    {"SO_TXTIME by the first clock", SOL_SOCKET, SO_TXTIME, 0, true},
    {"TCP_NOTSENT_LOWAT", IPPROTO_TCP, TCP_NOTSENT_LOWAT, 16384, true},
    {"TCP_NOTSENT_LOWAT, without limit", IPPROTO_TCP, TCP_NOTSENT_LOWAT, -1, false},
    {"TCP_ULP", IPPROTO_TCP, TCP_ULP, 0, true},
};

Test(shim, writes_that_are_told_apart_are_never_held) {
    EACH_ROW(row, apart)
        for (int accepted = 0; accepted <= 1; accepted++) {
            whole_start_in(MODE_CORK);
            shim_socket_made(3, AF_INET, SOCK_STREAM, 0);
            shim_listens(3);
            if (!accepted)
                whole_connected(6);
            shim_option_set(accepted ? 3 : 6, row->level, row->option, &row->value, sizeof(row->value));
            if (accepted)
                shim_accepted(3, 6);
            whole_write(6, "head");
            EXPECT_INT(row->name, fds_conn(fds_word(6))->held, !row->never_hold);
            hold_end_turn(PUSH_WAIT);
            shim_closing(6);
            shim_closing(3);
        }
}
