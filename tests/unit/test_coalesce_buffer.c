/* SPDX-License-Identifier: MIT
 *
 * The buffer of coalesce, against a kernel that takes all, some or nothing, and against handlers that leave
 * in the middle of a send.
 */
#include <setjmp.h>
#include <sys/uio.h>

#include "buffered.h"
#include "chance.h"
#include "config.h"
#include "fake_kernel.h"
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

/* ---- any order of calls ------------------------------------------------------ */

enum { RUNS = 300, CALLS = 100, MOST = 1 << 17 };

static char stream[MOST], wire[MOST]; /* what was written, and what the kernel has taken */
static size_t written, taken;
static bool may_leave;
static sigjmp_buf away;

static ssize_t takes_some(int fd, const struct msghdr *message, int flags) {
    static const int temporary[] = {EAGAIN, EINTR, ENOBUFS, ENOMEM};
    size_t all = 0, most;
    (void)fd, (void)flags;
    for (size_t i = 0; i < message->msg_iovlen; i++)
        all += message->msg_iov[i].iov_len;
    uint32_t how = draw(8);
    most = how < 4 ? all : how < 6 ? 1 + draw((uint32_t)all) : 0;
    for (size_t i = 0, left = most; i < message->msg_iovlen && left; i++) {
        size_t n = message->msg_iov[i].iov_len < left ? message->msg_iov[i].iov_len : left;
        memcpy(wire + taken, message->msg_iov[i].iov_base, n);
        taken += n;
        left -= n;
    }
    fake.tcp_info.bytes_sent = taken;
    if (may_leave && draw(4) == 0)
        siglongjmp(away, 1);
    return most ? (ssize_t)most : -temporary[draw(ARRAY_SIZE(temporary))];
}

/* Gives the bytes of the caller's that have left, also where a handler has left the call. */
static size_t send_behind(const struct iovec *parts, size_t bytes) {
    volatile ssize_t sent = -1;
    c.counts.bytes += bytes;
    may_leave = draw(2);
    if (sigsetjmp(away, 1) == 0)
        sent = buffer_send(&c, 5, parts, 2, 0);
    else
        sent = taken > written ? (ssize_t)(taken - written) : 0;
    may_leave = false;
    ASSERT(sent == -EAGAIN || (sent >= 0 && (size_t)sent <= bytes));
    buffer_resolve(&c);
    size_t left = sent < 0 ? 0 : (size_t)sent;
    c.counts.bytes -= bytes - left;
    return left;
}

/* The program writes the next bytes of the stream: into the buffer, set aside, or behind what is buffered. */
static void write_some(void) {
    struct iovec parts[2] = {{stream + written, 1 + draw(200)}, {NULL, draw(3000)}};
    parts[1].iov_base = stream + written + parts[0].iov_len;
    size_t bytes = parts[0].iov_len + parts[1].iov_len;
    bool fits = bytes <= buffer_room(&c);
    if (draw(4) == 0)
        ASSERT(buffer_add(&c, stream + written, bytes));
    else if (fits && draw(2))
        buffer_put(&c, parts, 2);
    else
        bytes = send_behind(parts, bytes), c.counts.bytes -= bytes;
    c.counts.bytes += bytes;
    written += bytes;
}

/* A handler may leave it for good; what follows asks the kernel how many bytes it has taken. */
static void flush_some(void) {
    may_leave = draw(2);
    if (sigsetjmp(away, 1) == 0)
        buffer_flush(&c, draw(2) ? MSG_MORE : 0);
    may_leave = false;
    buffer_resolve(&c);
}

/* No byte is lost, sent twice, or sent before an earlier one. */
Test(buffer, the_kernel_gets_the_stream, .timeout = 60) {
    for (size_t i = 0; i < MOST; i++)
        stream[i] = (char)draw(256);
    static struct kernel_ops own;
    own = *kernel;
    own.send = takes_some;
    kernel = &own;
    for (int run = 0; run < RUNS; run++) {
        memset(&c, 0, sizeof(c));
        c.fd = 5;
        written = taken = 0;
        fake.tcp_info = (struct kernel_tcp_info){0};
        for (int i = 0; i < CALLS && written < MOST - 4000; i++)
            (draw(3) ? write_some : flush_some)();
        while (buffer_length(&c))
            buffer_flush(&c, 0);
        cr_assert(taken == written && memcmp(stream, wire, taken) == 0 && !c.buffer && !c.pending_error,
                  "run %d: %zu of %zu bytes", run, taken, written);
    }
}

/* ---- what ends a send ----------------------------------------------------------- */

static const struct {
    const char *name;
    ssize_t answers[4];
    ssize_t result; /* of the four bytes behind three buffered ones */
    int kept;
    size_t left;
    const char *wire;
} sends[] = {
    {"in two", {1, 0}, 4, 0, 0, "abcWXYZ"},
    {"none of the caller's", {3}, 0, 0, 0, "abc"},
    {"no room", {-EAGAIN}, -EAGAIN, 0, 3, ""},
    {"room for some", {1, -ENOBUFS}, -EAGAIN, 0, 2, "a"},
    {"an error of the buffered is told later", {-EPIPE}, -EPIPE, EPIPE, 0, ""},
    {"... after some of them", {2, -ECONNRESET}, -ECONNRESET, ECONNRESET, 0, "ab"},
    {"the caller's fault is told at once", {-EFAULT, 0}, -EFAULT, 0, 0, "abc"},
};

Test(buffer, errors) {
    EACH_ROW(row, sends) {
        struct iovec behind = {(char[]){"WXYZ"}, 4};
        set_up();
        memcpy(fake.sends, row->answers, sizeof(row->answers));
        ASSERT(unit_buffer(&c, "abc"));
        EXPECT_INT(row->name, buffer_send(&c, 5, &behind, 1, 0), row->result);
        EXPECT_INT(row->name, c.pending_error, row->kept);
        EXPECT_INT(row->name, buffer_length(&c), row->left);
        EXPECT_TEXT(row->name, fake.wire_buffer, row->wire);
    }
}

/* A shutdown that waits for the last byte; bytes that are dropped take it with them. */
Test(buffer, shuts_when_sent) {
    ASSERT(unit_buffer(&c, "abcdef"));
    c.shut_when_sent = true;
    fake.sends[0] = 2, fake.sends[1] = -EAGAIN;
    EXPECT(!buffer_flush(&c, 0));
    EXPECT_TEXT("no room", fake_log(), "send(5,abcdef) send(5,cdef)");
    EXPECT(buffer_flush(&c, 0));
    EXPECT_TEXT("sent", fake_log(), "send(5,cdef) shut(5)");
    ASSERT(unit_buffer(&c, "abc"));
    c.shut_when_sent = true;
    buffer_free(&c);
    ASSERT(unit_buffer(&c, "abc") && buffer_flush(&c, 0));
    EXPECT_TEXT("dissolved meanwhile", fake_log(), "send(5,abc)");
}

/* Where nobody can tell what the kernel has taken, no byte is sent twice. */
Test(buffer, left_in_a_send_of_which_nothing_is_known) {
    for (int foreign = 0; foreign < 2; foreign++) {
        set_up();
        c.origin = foreign ? ORIGIN_FOREIGN : ORIGIN_SOCKET;
        c.counts.bytes = 106; /* 100 before */
        fake.tcp_info.bytes_sent = 100;
        fake.tcp_info_error = foreign ? 0 : -EINVAL;
        ASSERT(unit_buffer(&c, "abcdef"));
        buffer_begins_to_send(c.buffer, 100, false);
        buffer_resolve(&c);
        EXPECT_INT("left", buffer_length(&c), 0);
    }
}

/* A thread keeps one spare buffer, the others go back to the pool: none is lost. */
Test(buffer, buffers_are_used_again) {
    static struct conn many[64];
    static const void *seen[1000];
    size_t distinct = 0;
    for (int round = 0; round < 10; round++) {
        for (size_t i = 0, at; i < ARRAY_SIZE(many); i++) {
            ASSERT(unit_buffer(&many[i], "x"));
            for (at = 0; at < distinct && seen[at] != many[i].buffer; at++)
                ;
            seen[at] = many[i].buffer;
            distinct += at == distinct;
        }
        for (size_t i = 0; i < ARRAY_SIZE(many); i++)
            buffer_free(&many[i]);
        buffer_thread_ends();
    }
    cr_expect(distinct <= 64 + 8, "%zu buffers for 64 connections", distinct);
}
