/* SPDX-License-Identifier: MIT
 *
 * The path of a write, from the exported call to the kernel and the next in line.
 */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/mman.h>

#include "config.h"
#include "turn.h"
#include "readable.h"
#include "shim.h"
#include "window.h"
#include "whole.h"

/* ---- a hold that is released -------------------------------------------------- */

static void a_cancellation_would_release(void) {
    EXPECT(self.releasing && self.releasing == fds_conn(fds_word(5)));
}

static void *hold_and_release(void *release) {
    EXPECT_INT("held", whole_write(5, "abc"), 3);
    EXPECT_TEXT("held", fake_log(), "SEND_MORE(5,abc)");
    fake_real.meanwhile = a_cancellation_would_release;
    ((void (*)(void))(uintptr_t)release)();
    return NULL;
}

static void by_the_fast_path(void) {
    EXPECT_INT("released", whole_write_long(5, 5000), 5000);
}

static void by_the_long_path(void) {
    struct iovec part = {(char[]){"body"}, 4};
    EXPECT_INT("released",
               shim_write(&(struct write_request){
                   .fd = 5, .form = FORM_WRITEV, .flags = MSG_EOR, .iov = &part, .iov_count = 1}),
               4);
}

/* The thread ends after it: nothing is held, and nothing is to be set. */
Test(shim_write, a_release_is_over_when_the_write_is) {
    static void (*const ways[])(void) = {by_the_fast_path, by_the_long_path};
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        pthread_t thread;
        whole_start_in(MODE_CORK);
        struct conn *c = whole_warm(5);
        ASSERT(pthread_create(&thread, NULL, hold_and_release, (void *)(uintptr_t)ways[i]) == 0);
        pthread_join(thread, NULL);
        const char *log = fake_log();
        cr_expect(strstr(log, "WRITE") && !strstr(log, "nodelay"), "way %zu: %s", i, log);
        EXPECT(!c->held && !fake_real.meanwhile);
        shim_closing(5);
    }
}

/* ---- a connection that is closed during the call --------------------------- */

static void another_thread_closes(void) {
    fake_real.meanwhile = NULL;
    shim_closing(5);
}

/* Its place is free.  The write must change nothing there: the list of free places goes through it. */
Test(shim_write, a_place_that_became_free_is_left_alone) {
    static const enum mode modes[] = {MODE_OFF, MODE_OBSERVE, MODE_NODELAY, MODE_AUTO, MODE_CORK};
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        whole_start_in(modes[i]);
        struct conn *free_before = whole_connected(6), *c = whole_connected(5);
        c->policy.established = false; /* as a write that connects (TCP Fast Open) finds it */
        shim_closing(6);
        struct iovec part = {(char[]){"abc"}, 3};
        fake_real.meanwhile = another_thread_closes;
        EXPECT_INT("written",
                   shim_write(&(struct write_request){
                       .fd = 5, .form = FORM_WRITEV, .flags = MSG_OOB, .iov = &part, .iov_count = 1}),
                   3);
        EXPECT(!fake_real.meanwhile && !c->refs && !self.turn);
        EXPECT(c->next_free == free_before && !c->policy.established && !c->counts.writes);
        EXPECT(whole_connected(5) == c && whole_connected(6) == free_before);
        shim_closing(5);
        shim_closing(6);
    }
}

/* ---- forms --------------------------------------------------------------------- */

/* Each form goes on by its own name, or by its own system call if it came by syscall(2).  A hold needs a
 * flag, which write(2) and writev(2) lack. */
static const struct {
    const char *name;
    enum out_form form;
    bool raw;
    const char *plain, *held;
} forms[] = {
    {"write", FORM_WRITE, false, "WRITE", "SEND_MORE"},
    {"writev", FORM_WRITEV, false, "WRITEV", "SENDMSG_MORE"},
    {"send", FORM_SEND, false, "SEND", "SEND_MORE"},
    {"sendto", FORM_SENDTO, false, "SENDTO", "SEND_MORE"},
    {"sendmsg", FORM_SENDMSG, false, "SENDMSG", "SENDMSG_MORE"},
    {"pwritev2", FORM_PWRITEV2, false, "PWRITEV2", "SENDMSG_MORE"},
    {"write by syscall", FORM_WRITE, true, "RAW_WRITE", "RAW_SENDMSG_MORE"},
    {"writev by syscall", FORM_WRITEV, true, "RAW_WRITEV", "RAW_SENDMSG_MORE"},
    {"send by syscall", FORM_SEND, true, "RAW_SENDTO", "RAW_SENDMSG_MORE"},
    {"sendto by syscall", FORM_SENDTO, true, "RAW_SENDTO", "RAW_SENDMSG_MORE"},
    {"sendmsg by syscall", FORM_SENDMSG, true, "RAW_SENDMSG", "RAW_SENDMSG_MORE"},
    {"pwritev2 by syscall", FORM_PWRITEV2, true, "RAW_PWRITEV2", "RAW_SENDMSG_MORE"},
};

static ssize_t write_in_form(enum out_form form, bool raw, int flags) {
    struct iovec parts[] = {{(char[]){"a"}, 1}, {(char[]){"bc"}, 2}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    struct write_request o = {.fd = 5, .form = form, .raw = raw, .flags = flags};
    if (form == FORM_SENDMSG) {
        o.message = &message;
    } else if (form == FORM_WRITEV || form == FORM_PWRITEV2) {
        o.iov = parts;
        o.iov_count = 2;
    } else {
        o.buffer = "abc";
        o.bytes = 3;
    }
    return shim_write(&o);
}

static void expect_call(const char *row, const char *call) {
    TEXT(wanted, 64);
    text_add(&wanted, call);
    text_add(&wanted, "(5,abc)");
    EXPECT_TEXT(row, fake_log(), wanted.at);
}

Test(shim_write, each_form_goes_on_as_it_came) {
    static const enum mode passing[] = {MODE_OFF, MODE_OBSERVE, MODE_NODELAY};
    EACH_ROW(row, forms) {
        for (size_t i = 0; i < ARRAY_SIZE(passing); i++) {
            whole_start_in(passing[i]);
            whole_connected(5);
            EXPECT_INT(row->name, write_in_form(row->form, row->raw, 0), 3);
            expect_call(row->name, row->plain);
            shim_closing(5);
        }
        whole_start_in(MODE_CORK);
        whole_connected(5);
        EXPECT_INT(row->name, write_in_form(row->form, row->raw, 0), 3);
        expect_call(row->name, row->held);
        shim_closing(5);
    }
}

/* The library does not look into a message that the kernel will refuse. */
Test(shim_write, what_is_no_vector_goes_on_as_it_came) {
    static struct iovec huge[] = {{NULL, 5}, {NULL, SIZE_MAX - 3}}, half[] = {{NULL, SSIZE_MAX}, {NULL, 1}};
    const struct msghdr *unreadable = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct msghdr none = {.msg_iovlen = 1}, many = {.msg_iov = huge, .msg_iovlen = 1025};
    const struct write_request bad[] = {
        {.fd = 5, .form = FORM_WRITEV, .iov = NULL, .iov_count = 1},
        {.fd = 5, .form = FORM_WRITEV, .iov = huge, .iov_count = -1},
        {.fd = 5, .form = FORM_WRITEV, .iov = huge, .iov_count = 1025},
        {.fd = 5, .form = FORM_WRITEV, .iov = huge, .iov_count = 2},
        {.fd = 5, .form = FORM_WRITEV, .iov = half, .iov_count = 2},
        {.fd = 5, .form = FORM_SENDMSG, .message = &none},
        {.fd = 5, .form = FORM_SENDMSG, .message = unreadable},
        {.fd = 5, .form = FORM_SENDMSG, .message = &many},
    };
    static const enum mode modes[] = {MODE_CORK, MODE_COALESCE};
    for (size_t i = 0; i < ARRAY_SIZE(bad) * ARRAY_SIZE(modes); i++) {
        whole_start_in(modes[i % ARRAY_SIZE(modes)]);
        struct conn *c = whole_connected(5);
        EXPECT_INT("refused", shim_write(&bad[i / ARRAY_SIZE(modes)]), -1);
        EXPECT_INT("errno", errno, EINVAL);
        const char *log = fake_log();
        cr_expect(strstr(log, "(5,bad)") && !strstr(log, "MORE"), "%zu: %s", i, log);
        EXPECT_INT("not counted", c->counts.writes, 0);
        EXPECT_INT("depth", self.depth, 0);
        shim_closing(5);
    }
}

Test(shim_write, what_was_buffered_leaves_before_what_is_no_vector) {
    whole_start_in(MODE_COALESCE);
    whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    fake_log();
    EXPECT_INT("refused",
               shim_write(&(struct write_request){.fd = 5, .form = FORM_WRITEV, .iov = NULL, .iov_count = 1}),
               -1);
    EXPECT_TEXT("log", fake_log(), "send(5,abc) WRITEV(5,bad)");
}

/* Writes with MSG_OOB and its like, an address, or control data are never held or buffered. */
Test(shim_write, what_is_more_than_bytes_goes_on_as_it_came) {
    static const enum mode modes[] = {MODE_CORK, MODE_COALESCE};
    static const int flags[] = {MSG_OOB, MSG_ZEROCOPY, MSG_EOR, MSG_CONFIRM, MSG_FASTOPEN};
    const struct sockaddr_in to = {.sin_family = AF_INET};
    for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
        whole_start_in(modes[m]);
        whole_connected(5);
        for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
            EXPECT_INT("taken", write_in_form(FORM_SEND, false, flags[i]), 3);
            const char *log = fake_log();
            cr_expect(strstr(log, "SEND(5,abc)"), "%#x: %s", (unsigned)flags[i], log);
        }
        struct write_request o = {.fd = 5, .form = FORM_SENDTO, .buffer = "abc", .bytes = 3,
                        .address = (const struct sockaddr *)&to, .address_length = sizeof(to)};
        shim_write(&o);
        EXPECT(strstr(fake_log(), "SENDTO_ADDRESS(5,abc)"));
        char control[64] = "";
        struct iovec part = {(char[]){"abc"}, 3};
        struct msghdr carries = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control}, named = carries;
        carries.msg_controllen = 16;
        named.msg_name = (void *)(uintptr_t)&to;
        shim_write(&(struct write_request){.fd = 5, .form = FORM_SENDMSG, .message = &carries});
        EXPECT(strstr(fake_log(), "SENDMSG(5,abc)"));
        shim_write(&(struct write_request){.fd = 5, .form = FORM_SENDMSG, .message = &named});
        EXPECT(strstr(fake_log(), "SENDMSG(5,abc)"));
        shim_closing(5);
    }
}

/* ---- answers of the kernel ---------------------------------------------------------- */

static ssize_t by_fast_path(void) {
    return whole_write(5, "abc");
}

static ssize_t by_slow_path(void) {
    return write_in_form(FORM_WRITEV, false, 0);
}

static ssize_t (*const ways[])(void) = {by_fast_path, by_slow_path};
#define EACH_WAY(way) for (__typeof__(&ways[0]) way = ways; way < ways + ARRAY_SIZE(ways); way++)

/* The number was closed and reused unseen: the library forgets it and makes the call unchanged. */
Test(shim_write, the_number_is_no_socket_now) {
    EACH_WAY(way) {
        whole_start_in(MODE_CORK);
        struct conn *c = whole_connected(5);
        fake_real.answers[0] = -ENOTSOCK;
        EXPECT_INT("made again", (*way)(), 3);
        const char *log = fake_log();
        cr_expect(strstr(log, "MORE(5,abc) WRITE"), "%s", log);
        EXPECT_INT("forgotten", fds_word(5), FDS_UNKNOWN);
        EXPECT_INT("no connection", c->refs, 0);
        self.turn = NULL;
    }
}

static void the_window_ends(void) {
    struct conn *c = fds_lock(5);
    hold_window_ends(c);
    conn_unlock(c);
}

/* The window ends between the decision to hold and the send: the later write is held all the same, and leaves
 * with the turn. */
Test(shim_write, held_after_the_window_has_ended) {
    EACH_WAY(way) {
        whole_start_in(MODE_CORK);
        struct conn *c = whole_connected(5);
        c->policy.untracked_io = false;
        fake_real.meanwhile = the_window_ends;
        errno = 4711;
        EXPECT_INT("held", (*way)(), 3);
        EXPECT_INT("errno", errno, 4711);
        EXPECT(c->held && self.turn == c && c->turn_owner == &self);
        const char *log = fake_log();
        cr_expect(strstr(log, "MORE(5,abc) nodelay(5,1)"), "%s", log);
        hold_end_turn(PUSH_WAIT);
        EXPECT(!c->held && strstr(fake_log(), "nodelay(5,1)"));
        shim_closing(5);
    }
}

/* A write that fails does not count: bytes held before it stay held, or are pushed. */
static const struct {
    const char *name;
    bool held_before, window;
    const char *at_the_wait;
} failures[] = {
    {"nothing was held", false, false, ""},
    {"a write before it is held", true, false, "nodelay(5,1)"},
    {"... and was pushed meanwhile", true, true, "nodelay(5,1)"},
};

Test(shim_write, a_write_that_fails_is_none) {
    EACH_ROW(row, failures)
        EACH_WAY(way) {
            whole_start_in(MODE_CORK);
            struct conn *c = whole_connected(5);
            c->origin = ORIGIN_FOREIGN; /* no probes */
            if (row->held_before)
                EXPECT_INT(row->name, (*way)(), 3);
            struct conn_counts before = c->counts;
            struct policy policy = c->policy;
            fake_real.answers[fake_real.count] = -EAGAIN;
            fake_real.meanwhile = row->window ? the_window_ends : NULL;
            EXPECT_INT(row->name, (*way)(), -1);
            EXPECT_INT(row->name, errno, EAGAIN);
            EXPECT_INT(row->name, c->counts.writes, before.writes);
            EXPECT_INT(row->name, c->counts.bytes, before.bytes);
            EXPECT_INT(row->name, c->counts.held_writes, before.held_writes);
            EXPECT_INT(row->name, c->counts.messages, before.messages);
            EXPECT_INT(row->name, c->counts.bursts, before.bursts);
            EXPECT_INT(row->name, c->policy.position, policy.position);
            EXPECT_INT(row->name, c->policy.message_bytes, policy.message_bytes);
            EXPECT_INT(row->name, c->policy.small_writes, policy.small_writes);
            EXPECT(c->policy.sndbuf_maybe_full);
            fake_log();
            hold_end_turn(PUSH_WAIT);
            EXPECT_TEXT(row->name, fake_log(), row->at_the_wait);
            shim_closing(5);
        }
}

Test(shim_write, of_a_short_write_counts_what_left) {
    EACH_WAY(way) {
        whole_start_in(MODE_NODELAY);
        readable_start(); /* the vector is on the stack */
        struct conn *c = whole_connected(5);
        fake_real.answers[0] = 2;
        EXPECT_INT("two", (*way)(), 2);
        EXPECT_INT("bytes", c->counts.bytes, 2);
        EXPECT_INT("writes", c->counts.writes, 1);
        EXPECT(c->policy.sndbuf_maybe_full);
        shim_closing(5);
    }
}

/* After an error that ends the sending side nothing is held or buffered: it would seem to succeed. */
Test(shim_write, behind_an_error_the_kernel_answers) {
    static const enum mode modes[] = {MODE_OFF, MODE_NODELAY, MODE_CORK, MODE_COALESCE, MODE_AUTO};
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        whole_start_in(modes[i]);
        struct conn *c = whole_connected(5);
        conn_unlock(conn_lock_fd(5)); /* its mode is known from now on */
        c->policy.mode = MODE_OFF;
        fake_real.answers[0] = -ECONNRESET;
        EXPECT_INT("it passes, and fails", whole_write(5, "abc"), -1);
        c->policy.mode = (uint8_t)modes[i];
        EXPECT(!c->policy.established && c->policy.refuses);
        fake_log();
        fake_real.answers[1] = -EPIPE;
        EXPECT_INT("not taken", whole_write(5, "abc"), -1);
        EXPECT_INT("errno", errno, EPIPE);
        EXPECT_TEXT(mode_names[modes[i]], fake_log(), "WRITE(5,abc)");
        shim_closing(5);
    }
}

/* ---- streams, answers --------------------------------------------------------------- */

/* Eight small writes without an answer are a stream, which gets Nagle's algorithm back, unless unseen calls
 * read the answers. */
static const struct {
    const char *name;
    uint64_t received;
    bool back;
} streams[] = {{"a stream", 0, true}, {"answered unseen", 100, false}};

Test(shim_write, a_stream_is_given_back) {
    EACH_ROW(row, streams) {
        whole_start_in(MODE_AUTO);
        struct conn *c = whole_connected(5 + (int)row->received);
        c->endpoint = 0;
        fake.tcp_info.bytes_received = row->received;
        for (int i = 0; i < 12; i++)
            whole_write(5 + (int)row->received, "abc");
        EXPECT_INT(row->name, strstr(fake_log(), ",0)") != NULL, row->back);
        EXPECT_INT(row->name, c->policy.nodelay, !row->back);
        EXPECT_INT(row->name, c->policy.one_way, row->back);
        EXPECT_INT(row->name, c->policy.input_ever, !row->back);
        shim_closing(5 + (int)row->received);
    }
}

static void the_answer_comes(void) {
    whole_read(5, 100);
}

/* In a mode that does not cure the call comes first: another thread may have read the answer to
 * it by the time that it is accounted for. */
Test(shim_write, answered_before_it_is_accounted_for) {
    for (int open = 0; open < 2; open++) {
        whole_start_in(MODE_OBSERVE);
        struct conn *c = whole_connected(5);
        if (open)
            whole_write(5, "head");
        fake_real.meanwhile = the_answer_comes;
        EXPECT_INT("sent", whole_write(5, "body"), 4);
        EXPECT_INT("the message is over", c->policy.message_bytes, 0);
        EXPECT_INT("units", c->policy.units, 0);
        EXPECT_INT("writes", c->counts.writes, 1 + open);
        EXPECT_INT("messages", c->counts.messages, 1);
        EXPECT_INT("bytes", c->counts.bytes, open ? 8 : 4);
        EXPECT_INT("depth", self.depth, 0);
        shim_closing(5);
    }
}

/* ---- counts ----------------------------------------------------------------------- */

static const struct {
    enum mode mode;
    uint32_t held, buffered;
} counted[] = {{MODE_NODELAY, 0, 0}, {MODE_CORK, 2, 0}, {MODE_COALESCE, 0, 2}, {MODE_AUTO, 1, 0}};

Test(shim_write, what_a_message_counts) {
    EACH_ROW(row, counted) {
        whole_start_in(row->mode);
        struct conn *c = whole_warm(5);
        struct conn_counts before = c->counts;
        whole_write(5, "head");
        whole_write(5, "body");
        whole_read(5, 100);
        EXPECT_INT(mode_names[row->mode], c->counts.writes - before.writes, 2);
        EXPECT_INT(mode_names[row->mode], c->counts.bytes - before.bytes, 8);
        EXPECT_INT(mode_names[row->mode], c->counts.messages - before.messages, 1);
        EXPECT_INT(mode_names[row->mode], c->counts.bursts - before.bursts, 1);
        EXPECT_INT(mode_names[row->mode], c->counts.turns - before.turns, 1);
        EXPECT_INT(mode_names[row->mode], c->counts.held_writes - before.held_writes, row->held);
        EXPECT_INT(mode_names[row->mode], c->counts.buffered_writes - before.buffered_writes, row->buffered);
        shim_closing(5);
    }
}

Test(shim_write, a_write_of_nothing_is_none) {
    whole_start_in(MODE_OFF);
    struct conn *c = whole_connected(5);
    EXPECT_INT("nothing", whole_write(5, ""), 0);
    EXPECT_TEXT("log", fake_log(), "WRITE(5,)");
    EXPECT_INT("not counted", c->counts.writes, 0);
    EXPECT_INT("depth", self.depth, 0);
}

/* Whether there is a window's thread is decided at the first hold, no earlier. */
Test(shim_write, the_first_hold_decides_about_the_thread) {
    whole_start((const char *const[]){"UNSTALL_MODE=auto", "UNSTALL_THREAD=never", NULL});
    struct conn *c = whole_connected(5);
    window_now = WINDOW_NONE;
    whole_write(5, "abc");
    EXPECT_INT("nothing is held", window_now, WINDOW_NONE);
    c->policy.mode = MODE_CORK;
    whole_write(5, "abc");
    EXPECT_INT("decided", window_now, WINDOW_NEVER);
}

/* Where a thread may be had, a hold needs no habit: the decision comes before the question. */
Test(shim_write, a_bursty_connection_decides_about_the_thread) {
    whole_start((const char *const[]){"UNSTALL_MODE=auto", "UNSTALL_THREAD=never", NULL});
    whole_warm(5);
    window_now = WINDOW_NONE;
    whole_write(5, "abc");
    EXPECT_INT("decided", window_now, WINDOW_NEVER);
}

/* A buffer that the kernel takes in part may lie in memory of which the rest cannot be read. */
Test(shim_write, parts_are_looked_at_as_far_as_they_are_sent) {
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), here[8] = "";
    ASSERT(page != MAP_FAILED);
    struct iovec iov[] = {{here, 8}, {page, 8}};
    struct parts p = {.iov = iov, .count = 2, .bytes = 16, .valid = true};
    EXPECT(shim_parts_readable(&p, 8));
    EXPECT(!shim_parts_readable(&p, 9));
    EXPECT(!shim_parts_readable(&p, 16));
}

/* It is counted before the call. */
Test(shim_write, in_off_what_the_kernel_refuses_is_not_counted) {
    whole_start_in(MODE_OFF);
    struct conn *c = whole_connected(5);
    whole_write(5, "head");
    const struct conn_counts before = c->counts;
    uint32_t open = c->policy.message_bytes;
    fake_real.answers[fake_real.count] = -EAGAIN;
    EXPECT_INT("refused", shim_one_in_off(5, "abc", 3, 0, FORM_WRITE, c), -1);
    EXPECT_INT("errno", errno, EAGAIN);
    EXPECT_INT("writes", c->counts.writes, before.writes);
    EXPECT_INT("bursts", c->counts.bursts, before.bursts);
    EXPECT_INT("bytes", c->counts.bytes, before.bytes);
    EXPECT_INT("message", c->policy.message_bytes, open);
    fake_real.answers[fake_real.count] = 2;
    EXPECT_INT("a part", shim_one_in_off(5, "abc", 3, 0, FORM_WRITE, c), 2);
    EXPECT_INT("writes", c->counts.writes, before.writes + 1);
    EXPECT_INT("bytes", c->counts.bytes, before.bytes + 2);
}
