/* SPDX-License-Identifier: MIT
 *
 * The window's thread: it lets go in time, drops off its list what holds no more, parks, and ends.
 * Times are bounds with room for a busy machine.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "config.h"
#include "fake_kernel.h"
#include "fds.h"
#include "gather.h"
#include "hold.h"
#include "ticker.h"
#include "unit.h"

static struct conn *c;

static void set_up(void) {
    fake_kernel_install();
    config_load(NULL, "prog");
    c = fds_birth(5, ORIGIN_SOCKET);
    c->policy.established = true;
    c->policy.mode = MODE_CORK;
    c->policy.dark = true; /* no probes */
    conn_unlock(c);
}

TestSuite(ticker, .init = set_up, .timeout = 20);

static void hold_now(void) {
    conn_lock(c);
    c->held = true;
    ticker_watch(c);
    conn_unlock(c);
}

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static bool within_ms(long ms, bool (*done)(void)) {
    for (long i = 0; i < ms; i++) {
        if (done())
            return true;
        pause_ms(1);
    }
    return done();
}

static bool let_go(void) {
    conn_lock(c);
    bool gone = !c->held && gather_length(c) == 0;
    conn_unlock(c);
    return gone;
}

static bool off_the_list(void) {
    conn_lock(c);
    bool off = !c->ticking;
    conn_unlock(c);
    return off;
}

Test(ticker, none_before_the_first_hold) {
    EXPECT_INT("state", ticker_state(), TICKER_NONE);
    ticker_stop(false); /* of none: nothing happens */
    EXPECT_INT("state", ticker_state(), TICKER_NONE);
}

Test(ticker, starts_once_and_keeps_errno) {
    errno = 4711;
    EXPECT(ticker_ready() && ticker_ready());
    EXPECT_INT("errno", errno, 4711);
    EXPECT_INT("state", ticker_state(), TICKER_RUNS);
    ticker_stop(false);
}

Test(ticker, the_window_ends_a_hold) {
    ASSERT(ticker_ready());
    for (int i = 0; i < 5; i++) {
        hold_now();
        cr_expect(within_ms(2000, let_go), "hold %d is never let go", i);
        EXPECT_TEXT("log", fake_log(), "nodelay(5,1)");
        pause_ms(i * 10); /* parked or not */
    }
    EXPECT_INT("counted", c->counts.pushes[PUSH_WINDOW], 5);
    ticker_stop(false);
}

Test(ticker, not_before_the_window) {
    config_load((char *[]){(char[]){"UNSTALL_WINDOW_US=100000"}, NULL}, "prog");
    ASSERT(ticker_ready());
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    hold_now();
    EXPECT(within_ms(5000, let_go));
    clock_gettime(CLOCK_MONOTONIC, &ended);
    double ms =
        (double)(ended.tv_sec - begun.tv_sec) * 1e3 + (double)(ended.tv_nsec - begun.tv_nsec) / 1e6;
    cr_expect(ms >= 99, "a window of 100 ms ended after %.1f", ms);
    ticker_stop(false);
}

/* A hold that begins late in a tick has that tick's rest and its window. */
Test(ticker, the_rest_of_a_tick_does_not_count) {
    enum { TICK_US = 4000, WINDOW_US = 2 * TICK_US };
    config_load((char *[]){(char[]){"UNSTALL_WINDOW_US=8000"}, NULL}, "prog");
    ASSERT(ticker_ready());
    hold_now(); /* from now on it ticks */
    for (int i = 0; i < 5; i++) {
        EXPECT(within_ms(5000, let_go));
        for (uint64_t tick = LOAD(&ticker_ticks); LOAD(&ticker_ticks) == tick;)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        nanosleep(&(struct timespec){.tv_nsec = (TICK_US - 1000) * 1000L}, NULL);
        uint64_t begun = clock_now();
        hold_now();
        EXPECT(within_ms(5000, let_go));
        uint64_t us = (clock_now() - begun) / 1000;
        cr_expect(us >= WINDOW_US, "a window of %d us ended after %d", WINDOW_US, (int)us);
    }
    ticker_stop(false);
}

Test(ticker, gathered_bytes_are_tried_again) {
    c->policy.mode = MODE_COALESCE;
    fake.sends[0] = fake.sends[1] = fake.sends[2] = -EAGAIN;
    struct iovec one = {(char[]){"abc"}, 3};
    ASSERT(ticker_ready());
    conn_lock(c);
    ASSERT(gather_add(c, &one, 1, 3));
    ticker_watch(c);
    conn_unlock(c);
    EXPECT(within_ms(2000, let_go));
    EXPECT_TEXT("log", fake_log(), "send(5,abc) send(5,abc) send(5,abc) send(5,abc)");
    ticker_stop(false);
}

Test(ticker, what_holds_no_more_leaves_the_list) {
    ASSERT(ticker_ready());
    hold_now();
    conn_lock(c);
    hold_push(c, PUSH_WAIT);
    conn_unlock(c);
    EXPECT(within_ms(2000, off_the_list));
    hold_now();
    cr_expect(within_ms(2000, let_go), "and comes back at the next hold");
    ticker_stop(false);
}

Test(ticker, a_connection_released_while_on_the_list) {
    ASSERT(ticker_ready());
    hold_now();
    conn_lock(c);
    fds_leave(c, 5);
    fds_release(c);
    struct conn *again = fds_birth(6, ORIGIN_SOCKET);
    ASSERT(again == c);
    again->policy.mode = MODE_CORK;
    again->policy.dark = true;
    conn_unlock(again);
    fake_log();
    hold_now();
    EXPECT(within_ms(2000, let_go));
    EXPECT_TEXT("the new descriptor", fake_log(), "nodelay(6,1)");
    ticker_stop(false);
}

Test(ticker, the_end_lets_go_and_another_can_start) {
    config_load((char *[]){(char[]){"UNSTALL_WINDOW_US=100000"}, NULL}, "prog");
    for (int i = 0; i < 3; i++) {
        ASSERT(ticker_ready());
        hold_now();
        ticker_stop(false);
        EXPECT(!c->held && !c->ticking);
        EXPECT_TEXT("log", fake_log(), "nodelay(5,1)");
        EXPECT_INT("state", ticker_state(), TICKER_NONE);
    }
}

Test(ticker, an_end_for_ever) {
    ASSERT(ticker_ready());
    ticker_stop(true);
    EXPECT_INT("state", ticker_state(), TICKER_IMPOSSIBLE);
    EXPECT(!ticker_ready());
}

Test(ticker, a_forked_child_has_none) {
    ASSERT(ticker_ready());
    ticker_stop(false);
    ASSERT(ticker_ready());
    ticker_forked(true); /* as if: this process keeps its thread, which stays parked */
    EXPECT_INT("state", ticker_state(), TICKER_NONE);
}

/* Everything of a closed connection leaves by a descriptor of our own, which is then closed. */
Test(ticker, a_lingering_connection) {
    c->policy.mode = MODE_COALESCE;
    fake.sends[0] = -EAGAIN;
    struct iovec one = {(char[]){"abc"}, 3};
    ASSERT(ticker_ready());
    conn_lock(c);
    ASSERT(gather_add(c, &one, 1, 3));
    c->lingering = true;
    ticker_watch(c);
    conn_unlock(c);
    EXPECT(within_ms(2000, let_go));
    pause_ms(20);
    const char *log = fake_log();
    cr_expect(strstr(log, "send(5,abc) send(5,abc)") && strstr(log, "close(5)"), "%s", log);
    EXPECT_INT("word", fds_word(5), FDS_UNKNOWN);
    ticker_stop(false);
}
