/* SPDX-License-Identifier: MIT
 *
 * The path of a write, from the exported call to the kernel and the next in line.
 */
#include <errno.h>
#include <pthread.h>

#include "config.h"
#include "gather.h"
#include "hold.h"
#include "whole.h"

/* ---- behind gathered bytes ------------------------------------------------- */

/* A blocking write that a signal ends returns what left: a second call would block again. */
Test(shim_write, interrupted_behind_gathered_bytes_it_is_short) {
    whole_start_in(MODE_COALESCE);
    whole_warm(5);
    EXPECT_INT("gathered", whole_write(5, "abc"), 3);
    fake.sends[fake.send_count] = 5;
    fake_real.answers[fake_real.count] = 1000;
    EXPECT_INT("two with the gathered, a thousand by the second call", whole_write_long(5, 5000),
               1002);
    const char *log = fake_log();
    cr_expect(strstr(log, "send(5,abcxx") && strstr(log, " SENDMSG(5,xx"), "%s", log);
    cr_expect(!strstr(strstr(log, "SENDMSG") + 1, "SENDMSG"), "it blocked again: %s", log);
    EXPECT_INT("on the wire", fake.wire.used, 1005);
}

/* MSG_MORE behind bytes that found no room: it must not hold those too. */
Test(shim_write, what_is_stuck_leaves_before_the_applications_own_hold) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("gathered", whole_write(5, "abc"), 3);
    fake.sends[fake.send_count] = fake.sends[fake.send_count + 1] = -EAGAIN;
    hold_end_turn(PUSH_WAIT);
    ASSERT(c->stuck);
    fake_log();
    EXPECT_INT("taken", whole_send(5, "x", MSG_MORE), 1);
    EXPECT_TEXT("apart", fake_log(), "send(5,abc) send(5,abc) SEND_MORE(5,x)");
    EXPECT_TEXT("in order", fake.wire_buffer, "abcx");
}

/* ---- a hold that is released -------------------------------------------------- */

static void *hold_and_release(void *release) {
    EXPECT_INT("held", whole_write(5, "abc"), 3);
    EXPECT_TEXT("held", fake_log(), "SEND_MORE(5,abc)");
    ((void (*)(void))(uintptr_t)release)();
    return NULL;
}

static void by_the_short_way(void) {
    EXPECT_INT("released", whole_write_long(5, 5000), 5000);
}

static void by_the_long_way(void) {
    struct iovec part = {(char[]){"body"}, 4};
    EXPECT_INT("released",
               shim_write(&(struct out){
                   .fd = 5, .form = OUT_WRITEV, .flags = MSG_EOR, .iov = &part, .iov_count = 1}),
               4);
}

/* The thread ends after it: nothing is held, and nothing is to be set. */
Test(shim_write, a_release_is_over_when_the_write_is) {
    static void (*const ways[])(void) = {by_the_short_way, by_the_long_way};
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        pthread_t thread;
        whole_start_in(MODE_CORK);
        struct conn *c = whole_warm(5);
        ASSERT(pthread_create(&thread, NULL, hold_and_release, (void *)(uintptr_t)ways[i]) == 0);
        pthread_join(thread, NULL);
        const char *log = fake_log();
        cr_expect(strstr(log, "WRITE") && !strstr(log, "nodelay"), "way %zu: %s", i, log);
        EXPECT(!c->held);
        shim_closing(5);
    }
}
