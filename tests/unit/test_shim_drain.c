/* SPDX-License-Identifier: MIT
 *
 * Writes behind buffered bytes: the drain, its errors, and a number that is reused meanwhile.
 */
#include <errno.h>
#include <signal.h>

#include "buffered.h"
#include "turn.h"
#include "shim.h"
#include "whole.h"
/* A blocking write that a signal ends returns the number of sent bytes: a second call would block again. */
Test(shim_drain, interrupted_behind_buffered_bytes_it_is_short) {
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

/* MSG_MORE behind bytes that found no room must not hold them too. */
Test(shim_drain, what_is_stuck_leaves_before_the_applications_own_hold) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    fake.sends[fake.send_count] = fake.sends[fake.send_count + 1] = -EAGAIN;
    hold_end_turn(PUSH_WAIT);
    ASSERT(c->flush_blocked);
    fake_log();
    EXPECT_INT("taken", whole_send(5, "x", MSG_MORE), 1);
    EXPECT_TEXT("apart", fake_log(), "send(5,abc) send(5,abc) SEND_MORE(5,x)");
    EXPECT_TEXT("in order", fake.wire_buffer, "abcx");
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

/* The caller's argument was wrong: the waiting bytes stay. */
Test(shim_drain, a_callers_fault_is_told_and_what_waited_leaves) {
    static const int errors[] = {EFAULT, EINVAL, EMSGSIZE, EOPNOTSUPP};
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        whole_start_in(MODE_COALESCE);
        struct conn *c = whole_warm(5);
        EXPECT_INT("buffered", whole_write(5, "abc"), 3);
        fake.sends[fake.send_count] = -errors[i];
        EXPECT_INT("told", whole_write_long(5, 5000), -1);
        EXPECT_INT("errno", errno, errors[i]);
        EXPECT_TEXT("wire", fake.wire_buffer, "abc");
        EXPECT_INT("nothing waits", buffer_length(c), 0);
        EXPECT_INT("nothing is kept", c->pending_error, 0);
        EXPECT_INT("depth", self.depth, 0);
        shim_closing(5);
    }
}

static volatile int pipes_broken;

static void broken(int signal) {
    (void)signal;
    pipes_broken++;
}

/* EPIPE comes with SIGPIPE, as the kernel's own would, unless the caller wants none. */
Test(shim_drain, an_error_of_what_waited_is_the_writes) {
    signal(SIGPIPE, broken);
    for (int polite = 0; polite < 2; polite++) {
        whole_start_in(MODE_COALESCE);
        whole_warm(5);
        EXPECT_INT("buffered", whole_write(5, "abc"), 3);
        fake.sends[fake.send_count] = -EPIPE;
        pipes_broken = 0;
        static char all[5000];
        EXPECT_INT("told", shim_write_fast(5, all, 5000, polite ? MSG_NOSIGNAL : 0, FORM_SEND, 0), -1);
        EXPECT_INT("errno", errno, EPIPE);
        EXPECT_INT("signals", pipes_broken, !polite);
        EXPECT_TEXT("wire", fake.wire_buffer, "");
        fake_real.answers[fake_real.count] = -EPIPE;
        EXPECT_INT("and the next is the kernel's to refuse", whole_write(5, "abc"), -1);
        shim_closing(5);
    }
}

/* An error of buffered bytes that the window met is told by the next write, once. */
Test(shim_drain, a_pending_error_is_told_once) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    fake.sends[fake.send_count] = -ECONNRESET;
    hold_end_turn(PUSH_WAIT);
    EXPECT_INT("kept", c->pending_error, ECONNRESET);
    fake_log();
    EXPECT_INT("told", whole_write(5, "abc"), -1);
    EXPECT_INT("errno", errno, ECONNRESET);
    EXPECT_TEXT("nothing is sent", fake_log(), "");
    fake_real.answers[fake_real.count] = -EPIPE;
    EXPECT_INT("the kernel's", whole_write(5, "abc"), -1);
    EXPECT_INT("errno", errno, EPIPE);
}

/* So does a call that is neither held nor buffered, also if its own flush met the error. */
Test(shim_drain, a_bulk_call_tells_a_pending_error) {
    for (int by_window = 0; by_window < 2; by_window++) {
        struct call call;
        whole_start_in(MODE_COALESCE);
        struct conn *c = whole_warm(5);
        EXPECT_INT("buffered", whole_write(5, "abc"), 3);
        fake.sends[fake.send_count] = -ECONNRESET;
        if (by_window)
            hold_end_turn(PUSH_WAIT);
        EXPECT(shim_bulk_begins(5, 0, false, &call) == BULK_FAILS);
        EXPECT_INT("errno", errno, ECONNRESET);
        EXPECT(!c->pending_error && !c->held);
        EXPECT(shim_bulk_begins(5, 0, false, &call) == BULK_GOES); /* the kernel's own answer follows */
        shim_closing(5);
    }
}

/* A write before which the buffered bytes leave as a unit of their own. */
Test(shim_drain, a_special_write_tells_the_error_of_its_flush) {
    static const int special[] = {MSG_MORE, MSG_OOB};
    for (size_t i = 0; i < ARRAY_SIZE(special); i++) {
        whole_start_in(MODE_COALESCE);
        struct conn *c = whole_warm(5);
        EXPECT_INT("buffered", whole_write(5, "abc"), 3);
        fake_log();
        fake.sends[fake.send_count] = -ECONNRESET;
        EXPECT_INT("told", whole_send(5, "xyz", special[i]), -1);
        EXPECT_INT("errno", errno, ECONNRESET);
        EXPECT_TEXT("the write is not made", fake_log(), "send(5,abc)");
        EXPECT_INT("once", c->pending_error, 0);
        shim_closing(5);
    }
}

/* No room for the waiting bytes: a blocking writer sends them by a blocking call, then its own. */
Test(shim_drain, a_blocking_writer_drains) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    flush_blocked("abc");
    fake.sends[fake.send_count] = -EAGAIN;
    EXPECT_INT("all", whole_write_long(5, 5000), 5000);
    const char *log = fake_log(), asks[] = "cookie(5) ";
    if (strncmp(log, asks, strlen(asks)) == 0)
        log += strlen(asks); /* a busy machine: the number's socket was asked for too long ago */
    cr_expect(strncmp(log, "send(5,abcxx", 12) == 0, "%s", log);
    cr_expect(strstr(log, " SEND(5,abc) WRITE(5,xx"), "%s", log);
    EXPECT_INT("wire", fake.wire.used, 5003);
    EXPECT(!c->flush_blocked && !c->draining && self.draining == NULL);
}

Test(shim_drain, a_non_blocking_writer_hears_of_no_room) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    flush_blocked("abc");
    fake.non_blocking = true;
    fake.sends[fake.send_count] = -EAGAIN;
    EXPECT_INT("none", whole_write_long(5, 5000), -1);
    EXPECT_INT("errno", errno, EAGAIN);
    EXPECT_INT("it waits on", buffer_length(c), 3);
    fake.sends[fake.send_count] = 13;
    EXPECT_INT("what fits", whole_write_long(5, 5000), 10);
    EXPECT_INT("in order", fake.wire.used, 13);
    EXPECT_INT("depth", self.depth, 0);
}

/* The kernel takes a part: it has no room for the next bytes, so they are not buffered. */
Test(shim_drain, after_a_part_nothing_is_buffered) {
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

/* The drain is left by a signal or a timeout: the application's write has not happened, and the waiting bytes
 * still wait; another error ends the connection. */
static const struct {
    const char *name;
    int error;
    size_t waits;
} drains[] = {{"a signal", EINTR, 3}, {"SO_SNDTIMEO", EAGAIN, 3}, {"a reset", ECONNRESET, 0}};

Test(shim_drain, a_drain_that_fails) {
    EACH_ROW(row, drains) {
        whole_start_in(MODE_COALESCE);
        struct conn *c = whole_warm(5);
        flush_blocked("abc");
        fake.sends[fake.send_count] = -EAGAIN;
        fake_real.answers[fake_real.count] = -row->error;
        EXPECT_INT(row->name, whole_write_long(5, 5000), -1);
        EXPECT_INT(row->name, errno, row->error);
        EXPECT_INT(row->name, buffer_length(c), row->waits);
        EXPECT_INT(row->name, c->policy.refuses, row->waits == 0);
        EXPECT(!c->draining && self.draining == NULL);
        EXPECT_INT("depth", self.depth, 0);
        shim_closing(5);
    }
}

static void a_handler_writes(void) {
    EXPECT_INT("kept aside", whole_write(5, "hi"), 2);
}

/* A handler that interrupts the blocking send writes to the same connection: its bytes go behind the bytes in
 * the send and before the rest of its thread's. */
Test(shim_drain, a_handlers_bytes_come_between) {
    whole_start_in(MODE_COALESCE);
    whole_warm(5);
    flush_blocked("abc");
    fake.sends[fake.send_count] = -EAGAIN;
    fake_real.meanwhile = a_handler_writes;
    EXPECT_INT("all", whole_write_long(5, 5000), 5000);
    cr_expect(strncmp(fake.wire_buffer, "abchixx", 7) == 0, "%.10s", fake.wire_buffer);
    EXPECT_INT("wire", fake.wire.used, 5005);
}

/* Another thread is blocked while it sends earlier bytes. */
static struct conn *drained;

static void the_other_is_done(void) {
    ASSERT(conn_lock(drained));
    drained->draining = false;
    buffer_free(drained);
    conn_unlock(drained);
}

Test(shim_drain, a_blocking_writer_waits_for_who_drains) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    flush_blocked("abc");
    drained = c;
    c->draining = true;
    fake_real.meanwhile = the_other_is_done;
    EXPECT_INT("all", whole_write_long(5, 5000), 5000);
    const char *log = fake_log();
    cr_expect(strncmp(log, "WAIT(0,) WRITE(5,xx", 19) == 0, "%s", log);
}

static int room_and_done(int fd, int timeout_ms) {
    (void)fd, (void)timeout_ms;
    drained->draining = false;
    return 1;
}

Test(shim_drain, a_non_blocking_writer_beside_who_drains) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    flush_blocked("abc");
    c->draining = true;
    fake.non_blocking = fake.full = true;
    EXPECT_INT("no room", whole_write_long(5, 5000), -1);
    EXPECT_INT("errno", errno, EAGAIN);
    EXPECT_TEXT("asked for an edge", fake_log(), "room(5)");
    EXPECT_INT("still theirs", buffer_length(c), 3);
    struct kernel_ops ops = *kernel;
    drained = c;
    ops.writable = room_and_done;
    const struct kernel_ops *before = kernel;
    kernel = &ops;
    EXPECT_INT("once that thread is back", whole_write_long(5, 5000), 5000);
    kernel = before;
    EXPECT_INT("in order", fake.wire.used, 5003);
}

/* More parts than one call of ours takes, and the second call fails: sent bytes count. */
Test(shim_drain, many_parts_behind_buffered_bytes) {
    static struct iovec parts[100];
    static char letters[100][50];
    memset(letters, 'x', sizeof(letters));
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        parts[i] = (struct iovec){letters[i], 50};
    static const struct {
        ssize_t second;
        ssize_t result;
    } rows[] = {{0, 5000}, {-EINTR, 10 + 64 * 50 - 10}, {7, 10 + 64 * 50 - 10 + 7}};
    EACH_ROW(row, rows) {
        whole_start_in(MODE_COALESCE);
        whole_warm(5);
        EXPECT_INT("buffered", whole_write(5, "abc"), 3);
        fake.sends[fake.send_count] = 13;
        fake_real.answers[fake_real.count + 1] = row->second;
        struct write_request o = {.fd = 5, .form = FORM_WRITEV, .iov = parts, .iov_count = 100};
        EXPECT_INT("sent", shim_write(&o), row->result);
        EXPECT_INT("wire", fake.wire.used, 3 + row->result);
        shim_closing(5);
    }
}

/* The number is closed and reused during the drain, by calls that pass us by: the write must not go to the
 * new connection.  Once the buffer went back to the pool while the thread sent from it, and the new
 * connection lost as many bytes as were sent. */
static struct coalesce_buffer *sent_from, *reused;

static void the_number_is_reused(void) {
    sent_from = drained->buffer;
    ASSERT(conn_lock(drained));
    conn_reset(drained, 5, ORIGIN_SOCKET);
    ASSERT(unit_buffer(drained, "new"));
    reused = drained->buffer;
    conn_unlock(drained);
}

Test(shim_drain, a_number_that_is_reused_during_a_drain) {
    whole_start_in(MODE_COALESCE);
    drained = whole_warm(5);
    flush_blocked("abcdef");
    fake_real.meanwhile = the_number_is_reused;
    fake.sends[fake.send_count] = -EAGAIN;
    fake_real.answers[fake_real.count] = 2;
    EXPECT_INT("its socket is gone", whole_write_long(5, 5000), -1);
    EXPECT_INT("errno", errno, EBADF);
    EXPECT(reused && reused != sent_from && buffer_length(drained) == 3);
    EXPECT_INT("wire", fake.wire.used, 2);
    EXPECT_INT("depth", self.depth, 0);
}

/* Another thread closes the descriptor during the drain.  The write goes on with one of our own. */
static void another_closes(void) {
    shim_closing(5);
    EXPECT(drained->lingering && fds_word(5) == FDS_UNKNOWN);
}

Test(shim_drain, a_number_that_is_closed_during_a_drain) {
    whole_start_in(MODE_COALESCE);
    drained = whole_warm(5);
    flush_blocked("abcdef");
    fake_real.meanwhile = another_closes;
    fake.sends[fake.send_count] = -EAGAIN;
    EXPECT_INT("all", whole_write_long(5, 5000), 5000);
    EXPECT_INT("wire", fake.wire.used, 5006);
    const char *log = fake_log();
    cr_expect(strstr(log, " SEND(5,abcdef)") && !strstr(log, "WRITE(5,") && strstr(log, " close("), "%s",
              log);
    EXPECT_INT("depth", self.depth, 0);
}

/* The first bytes of a write have left when the next call of ours meets an error: the write is short, and the
 * next one tells the error, unless it comes again by itself or is temporary. */
Test(shim_drain, an_error_amid_a_write_is_told_by_the_next) {
    static const struct {
        int error, kept;
    } rows[] = {{ECONNRESET, ECONNRESET}, {ETIMEDOUT, ETIMEDOUT}, {EPIPE, 0}, {EFAULT, 0}, {EINTR, 0}};
    EACH_ROW(row, rows) {
        whole_start_in(MODE_COALESCE);
        struct conn *c = whole_warm(5);
        EXPECT_INT("buffered", whole_write(5, "abc"), 3);
        fake.sends[fake.send_count] = 100;
        fake_real.answers[fake_real.count] = -row->error;
        EXPECT_INT("short", whole_write_long(5, 5000), 97);
        cr_expect(c->pending_error == row->kept, "%d is kept for %d", c->pending_error, row->error);
        shim_closing(5);
    }
}

/* The window finds that the number is another's while a thread sends from the buffer: the buffer stays until
 * the call has returned. */
static void the_window_finds_another(void) {
    ASSERT(conn_lock(drained));
    fake.cookie = 99;
    hold_window_ends(drained);
    EXPECT_INT("still there", buffer_length(drained), 6);
    conn_unlock(drained);
}

Test(shim_drain, a_buffer_stays_while_a_thread_sends_from_it) {
    whole_start_in(MODE_COALESCE);
    drained = whole_warm(5);
    flush_blocked("abcdef");
    fake.sends[fake.send_count] = -EAGAIN;
    fake_real.meanwhile = the_window_finds_another;
    fake_real.answers[fake_real.count] = 2;
    EXPECT_INT("all", whole_write_long(5, 5000), 5000);
    const char *log = fake_log();
    cr_expect(strstr(log, " SEND(5,ab") && !strstr(log, "(5,cdef"), "to another: %s", log);
    EXPECT_INT("depth", self.depth, 0);
}
