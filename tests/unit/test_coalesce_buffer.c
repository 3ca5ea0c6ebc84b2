/* SPDX-License-Identifier: MIT
 *
 * The buffer of coalesce, against a kernel that takes all, some or nothing.
 */
#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <sys/uio.h>

#include "clock.h"
#include "config.h"
#include "fake_kernel.h"
#include "buffered.h"
#include "unit.h"

static struct conn c;

static void set_up(void) {
    fake_kernel_install();
    config_load(NULL, "prog");
    memset(&c, 0, sizeof(c));
    c.fd = 5;
    c.refs = 1;
}

TestSuite(buffer, .init = set_up);

static bool add(const char *bytes) {
    return unit_buffer(&c, bytes);
}

static ssize_t send_with(const char *bytes) {
    struct iovec one = {(char *)(uintptr_t)bytes, strlen(bytes)};
    return buffer_send(&c, 5, &one, 1, 0);
}

Test(buffer, copies_in_order) {
    char bytes[] = "head";
    struct iovec parts[] = {{bytes, 4}, {(char[]){""}, 0}, {(char[]){"-er"}, 3}};
    ASSERT(buffer_room(&c) >= 7);
    buffer_put(&c, parts, ARRAY_SIZE(parts));
    memset(bytes, '#', 4); /* the caller's buffer is his own again */
    ASSERT(add("body"));
    EXPECT_INT("length", buffer_length(&c), 11);
    EXPECT_TEXT("nothing asked of the kernel", fake_log(), "");
    EXPECT(buffer_flush(&c, 0));
    EXPECT_TEXT("one call", fake_log(), "send(5,head-erbody)");
    EXPECT_INT("length", buffer_length(&c), 0);
    cr_expect(c.buffer == NULL, "the buffer is given back");
}

Test(buffer, all_or_nothing) {
    static char big[4097];
    memset(big, 'x', 4096);
    cr_expect(add(big), "SMALL bytes fit");
    cr_expect(!add("y"), "one more does not");
    EXPECT_INT("length", buffer_length(&c), 4096);
    buffer_free(&c);
    EXPECT_INT("dropped", buffer_length(&c), 0);
    EXPECT_TEXT("not sent", fake_log(), "");
}

Test(buffer, too_large_for_an_empty_buffer_leaves_none) {
    static char big[5001];
    memset(big, 'x', 5000);
    EXPECT(!add(big));
    EXPECT(c.buffer == NULL && buffer_length(&c) == 0);
    cr_expect(add("abc"), "and it can be used");
}

Test(buffer, flush_of_nothing_asks_nothing) {
    EXPECT(buffer_flush(&c, 0));
    EXPECT_TEXT("log", fake_log(), "");
}

static const struct {
    const char *name;
    ssize_t answers[4];
    bool flushed;
    int kept;
    const char *log, *wire, *left;
} flushes[] = {
    {"all at once", {0}, true, 0, "send(5,abcdef)", "abcdef", ""},
    {"in two", {2, 0}, true, 0, "send(5,abcdef) send(5,cdef)", "abcdef", ""},
    {"some, then no room", {2, -EAGAIN}, false, 0, "send(5,abcdef) send(5,cdef)", "ab", "cdef"},
    {"no room", {-EAGAIN}, false, 0, "send(5,abcdef)", "", "abcdef"},
    {"no memory passes", {-ENOBUFS}, false, 0, "send(5,abcdef)", "", "abcdef"},
    {"no memory at all passes", {-ENOMEM}, false, 0, "send(5,abcdef)", "", "abcdef"},
    {"a signal passes", {-EINTR}, false, 0, "send(5,abcdef)", "", "abcdef"},
    {"a broken pipe is kept", {-EPIPE}, true, EPIPE, "send(5,abcdef)", "", ""},
    {"a reset after some is kept",
     {3, -ECONNRESET},
     true,
     ECONNRESET,
     "send(5,abcdef) send(5,def)",
     "abc",
     ""},
    {"no route is kept", {-EHOSTUNREACH}, true, EHOSTUNREACH, "send(5,abcdef)", "", ""},
};

Test(buffer, flush) {
    EACH_ROW(row, flushes) {
        set_up();
        memcpy(fake.sends, row->answers, sizeof(row->answers));
        ASSERT(add("abcdef"));
        errno = 4711;
        EXPECT_INT(row->name, buffer_flush(&c, 0), row->flushed);
        EXPECT_INT(row->name, errno, 4711);
        EXPECT_INT(row->name, c.pending_error, row->kept);
        EXPECT_TEXT(row->name, fake_log(), row->log);
        EXPECT_TEXT(row->name, fake.wire_buffer, row->wire);
        struct iovec left = buffer_length(&c) ? buffer_front(&c) : (struct iovec){NULL, 0};
        cr_expect(left.iov_len == strlen(row->left) &&
                      (left.iov_len == 0 || memcmp(left.iov_base, row->left, left.iov_len) == 0),
                  "%s: %zu bytes are left", row->name, left.iov_len);
    }
}

/* A shutdown that waits for the last byte; bytes that are dropped take it with them. */
Test(buffer, shuts_when_sent) {
    ASSERT(add("abcdef"));
    c.shut_when_sent = true;
    fake.sends[0] = 2, fake.sends[1] = -EAGAIN;
    EXPECT(!buffer_flush(&c, 0));
    EXPECT_TEXT("no room", fake_log(), "send(5,abcdef) send(5,cdef)");
    EXPECT(buffer_flush(&c, 0));
    EXPECT_TEXT("sent", fake_log(), "send(5,cdef) shut(5)");
    ASSERT(add("abc") && buffer_flush(&c, 0));
    EXPECT_TEXT("once only", fake_log(), "send(5,abc)");
    ASSERT(add("abc"));
    c.shut_when_sent = true;
    buffer_free(&c);
    ASSERT(add("abc") && buffer_flush(&c, 0));
    EXPECT_TEXT("a connection that was dissolved meanwhile", fake_log(), "send(5,abc)");
}

Test(buffer, flush_passes_flags_on) {
    add("head");
    EXPECT(buffer_flush(&c, MSG_MORE));
    EXPECT_TEXT("MSG_MORE", fake_log(), "more(5,head)");
}

/* A write behind buffered bytes: one sendmsg, its own bytes not copied. */
static const struct {
    const char *name;
    ssize_t answers[4];
    ssize_t result; /* of the caller's four bytes */
    int kept;
    size_t left;
    const char *log, *wire;
} sends[] = {
    {"all at once", {0}, 4, 0, 0, "send(5,abcWXYZ)", "abcWXYZ"},
    {"some of the caller's", {5}, 2, 0, 0, "send(5,abcWXYZ)", "abcWX"},
    {"none of the caller's", {3}, 0, 0, 0, "send(5,abcWXYZ)", "abc"},
    {"the buffered ones in two", {1, 0}, 4, 0, 0, "send(5,abcWXYZ) send(5,bcWXYZ)", "abcWXYZ"},
    {"no room", {-EAGAIN}, -EAGAIN, 0, 3, "send(5,abcWXYZ)", ""},
    {"room for some of the buffered",
     {1, -EAGAIN},
     -EAGAIN,
     0,
     2,
     "send(5,abcWXYZ) send(5,bcWXYZ)",
     "a"},
    {"an error of the buffered is kept", {-EPIPE}, -EPIPE, EPIPE, 0, "send(5,abcWXYZ)", ""},
};

Test(buffer, send_with_more_behind) {
    EACH_ROW(row, sends) {
        set_up();
        memcpy(fake.sends, row->answers, sizeof(row->answers));
        ASSERT(add("abc"));
        EXPECT_INT(row->name, send_with("WXYZ"), row->result);
        EXPECT_INT(row->name, c.pending_error, row->kept);
        EXPECT_INT(row->name, buffer_length(&c), row->left);
        EXPECT_TEXT(row->name, fake_log(), row->log);
        EXPECT_TEXT(row->name, fake.wire_buffer, row->wire);
    }
}

/* The number is another socket's meanwhile: the buffered bytes are none of its, the caller's are. */
Test(buffer, send_behind_bytes_of_another_socket) {
    c.cookie = 77;
    ASSERT(add("abc"));
    c.buffer->began = 0;
    fake.cookie = 99;
    EXPECT_INT("the caller's", send_with("WXYZ"), 4);
    EXPECT_TEXT("wire", fake.wire_buffer, "WXYZ");
}

/* With nothing buffered the error is the caller's own: told at once, not kept. */
Test(buffer, error_of_the_callers_own_bytes) {
    fake.sends[0] = -EPIPE;
    EXPECT_INT("result", send_with("WXYZ"), -EPIPE);
    EXPECT_INT("kept", c.pending_error, 0);
}

Test(buffer, order_over_a_full_buffer) {
    fake.sends[0] = 2;
    fake.sends[1] = -EAGAIN;
    add("abcd");
    EXPECT(!buffer_flush(&c, 0));
    cr_expect(add("efgh"), "behind what waits");
    EXPECT_INT("result", send_with("IJ"), 2);
    EXPECT_TEXT("wire", fake.wire_buffer, "abcdefghIJ");
}

Test(buffer, as_many_parts_as_a_call_takes) {
    static struct iovec parts[1024];
    static char letter[] = {'z'};
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        parts[i] = (struct iovec){letter, 1};
    add("abc");
    ssize_t sent = buffer_send(&c, 5, parts, ARRAY_SIZE(parts), 0);
    cr_expect(sent == 63, "64 parts, ours included: %zd", sent);
    EXPECT_INT("buffered ones are gone", buffer_length(&c), 0);
}

/* A handler leaves at each step of a send: nothing is sent twice. */
Test(buffer, left_between_the_send_and_the_removal) {
    add("abcdef");
    buffer_begins_to_send(c.buffer, 0, true);
    fake.tcp_info.bytes_sent = 4;
    c.buffer->head = 4; /* noted, but still in flight */
    buffer_resolve(&c);
    struct iovec front = buffer_front(&c);
    EXPECT_INT("left", front.iov_len, 2);
    EXPECT(memcmp(front.iov_base, "ef", 2) == 0);
    c.buffer->head = 6; /* in flight no more, and not given back yet */
    buffer_resolve(&c);
    EXPECT(c.buffer != NULL);
    buffer_is_left(&c);
    EXPECT(c.buffer == NULL);
}

/* A signal handler left for good in the middle of our sendmsg.  The bytes that the
 * kernel took are counted. */
static const struct {
    const char *name;
    uint8_t origin;
    uint64_t total; /* bytes that the kernel has of this connection */
    int error;
    size_t left;
} flights[] = {
    {"nothing", ORIGIN_SOCKET, 100, 0, 6},
    {"some", ORIGIN_SOCKET, 104, 0, 2},
    {"all", ORIGIN_SOCKET, 106, 0, 0},
    {"more than ours", ORIGIN_SOCKET, 200, 0, 0},
    {"less than it had before", ORIGIN_SOCKET, 50, 0, 6},
    {"unknown: never twice", ORIGIN_SOCKET, 100, -EINVAL, 0},
    {"a foreign connection: never twice", ORIGIN_FOREIGN, 100, 0, 0},
};

static sigjmp_buf away;

static ssize_t leave(int fd, const struct msghdr *message, int flags) {
    (void)fd, (void)message, (void)flags;
    siglongjmp(away, 1);
}

static void jump_out_of_the_send(void) {
    struct kernel_ops jumping = *kernel;
    jumping.send = leave;
    kernel = &jumping;
    if (sigsetjmp(away, 1) == 0)
        buffer_flush(&c, 0);
}

Test(buffer, resolve_after_a_jump_out_of_the_send) {
    EACH_ROW(row, flights) {
        set_up();
        c.origin = row->origin;
        c.counts.bytes = 106; /* 100 before, six buffered */
        ASSERT(add("abcdef"));
        const struct kernel_ops *before = kernel;
        jump_out_of_the_send();
        kernel = before;
        fake.tcp_info = (struct kernel_tcp_info){
            .bytes_sent = row->total - 1, .bytes_queued = 1, .segments_out = 1};
        fake.tcp_info_error = row->error;
        buffer_resolve(&c);
        EXPECT_INT(row->name, buffer_length(&c), row->left);
        buffer_resolve(&c);
        EXPECT_INT("only once", buffer_length(&c), row->left);
        if (c.buffer)
            buffer_free(&c);
    }
}

Test(buffer, nothing_to_resolve) {
    buffer_resolve(&c);
    add("abc");
    buffer_resolve(&c);
    EXPECT_INT("not in flight", buffer_length(&c), 3);
    EXPECT_TEXT("log", fake_log(), "");
}

/* A thread keeps one spare buffer, the others go back to the pool: none is lost. */
Test(buffer, buffers_are_used_again) {
    static struct conn many[64];
    const void *seen[1000];
    size_t distinct = 0;
    for (int round = 0; round < 10; round++) {
        for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
            ASSERT(unit_buffer(&many[i], "x"));
            const void *buffer = many[i].buffer;
            size_t at = 0;
            while (at < distinct && seen[at] != buffer)
                at++;
            if (at == distinct)
                seen[distinct++] = buffer;
        }
        for (size_t i = 0; i < ARRAY_SIZE(many); i++)
            buffer_free(&many[i]);
        buffer_thread_ends();
    }
    cr_expect(distinct <= 64 + 8, "%zu buffers for 64 connections", distinct);
}

Test(buffer, a_wider_one_begins_with_what_was_there) {
    enum { MUCH = 1 << 16 };
    static char much[MUCH + 1];
    memset(much, 'm', MUCH);
    ASSERT(add("abc") && buffer_add(&c, much, MUCH));
    EXPECT_INT("all of it", buffer_length(&c), MUCH + 3);
    EXPECT(memcmp(buffer_front(&c).iov_base, "abcmmm", 6) == 0);
}

/* A handler that ends the call would ask for bytes that are still ours. */
Test(buffer, nothing_is_in_flight_after_a_send) {
    fake.sends[0] = fake.sends[1] = -EAGAIN;
    ASSERT(add("abc"));
    EXPECT_INT("no room", send_with("def"), -EAGAIN);
    EXPECT(c.buffer && !c.buffer->in_flight);
    EXPECT(!buffer_flush(&c, 0));
    EXPECT(c.buffer && !c.buffer->in_flight);
}

static ssize_t find_it_exact(int fd, const struct msghdr *message, int flags) {
    (void)fd, (void)message, (void)flags;
    EXPECT(c.buffer && c.buffer->in_flight && !c.buffer->exact);
    return -EAGAIN;
}

/* After an abandoned blocking send the kernel is asked for its bytes.  A later send relies
 * on our own count. */
Test(buffer, a_send_after_a_blocking_one_is_not_exact) {
    struct kernel_ops ops = *kernel;
    ops.send = find_it_exact;
    kernel = &ops;
    ASSERT(add("abc"));
    c.buffer->exact = true;
    EXPECT_INT("no room", send_with("def"), -EAGAIN);
    c.buffer->exact = true;
    EXPECT(!buffer_flush(&c, 0));
}

/* ---- where a send stands --------------------------------------------------- */

static uint64_t before_seen;
static bool in_flight_seen, exact_seen;

static ssize_t looks_at_the_buffer(int fd, const struct msghdr *message, int flags) {
    (void)fd, (void)flags;
    before_seen = c.buffer->before;
    in_flight_seen = c.buffer->in_flight;
    exact_seen = c.buffer->exact;
    ssize_t all = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++)
        all += (ssize_t)message->msg_iov[i].iov_len;
    return all;
}

static void with_looks(void) {
    static struct kernel_ops own;
    own = *kernel;
    own.send = looks_at_the_buffer;
    kernel = &own;
}

/* A handler that jumps out of the send asks how much was taken: from the bytes before it on. */
Test(buffer, the_bytes_before_a_send) {
    struct iovec more[] = {{(char[]){"12345"}, 5}, {(char[]){"678"}, 3}};
    with_looks();
    ASSERT(add("abc"));
    c.counts.bytes = 103; /* with the waiting bytes */
    c.buffer->exact = true;
    EXPECT(buffer_flush(&c, 0));
    EXPECT(in_flight_seen && !exact_seen);
    EXPECT_INT("alone", before_seen, 100);
    ASSERT(add("abc"));
    c.counts.bytes = 111; /* with the bytes behind them, too */
    c.buffer->exact = true;
    EXPECT_INT("sent", buffer_send(&c, 5, more, 2, 0), 8);
    EXPECT(in_flight_seen && !exact_seen);
    EXPECT_INT("with more behind", before_seen, 100);
}

/* Bytes that move to a wider buffer are as old as they were: the number is checked before they leave. */
Test(buffer, a_wider_one_is_as_old) {
    c.cookie = 77;
    clock_stopped = 1000;
    EXPECT(buffer_add(&c, "xyz", 3));
    EXPECT(buffer_flush(&c, 0));
    EXPECT_TEXT("at once", fake_log(), "send(5,xyz)");
    static char full[4097];
    memset(full, 'f', 4096);
    ASSERT(add(full));
    clock_stopped = 2000;
    EXPECT(buffer_add(&c, "xyz", 3));
    EXPECT_INT("all", buffer_length(&c), 4099);
    EXPECT_INT("since then", c.buffer->began, 1000);
    fake.cookie = 78;
    EXPECT(buffer_flush(&c, 0));
    EXPECT_TEXT("another socket", fake_log(), "cookie(5)");
    EXPECT_INT("dropped", buffer_length(&c), 0);
}
