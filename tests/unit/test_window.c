/* SPDX-License-Identifier: MIT
 *
 * The window's thread: its pace, which is pure, and its life.  Times are bounds with room for a busy machine.
 * A test that gets no processor for 100 ms finds that the thread has ended by itself, so each test that needs
 * the thread tries again.  What its ticks do to a program tests/preload sees from outside.
 */
#include "window.h"

#include <pthread.h>
#include <sys/stat.h>

#include "buffered.h"
#include "clock.h"
#include "config.h"
#include "fake_kernel.h"
#include "fds.h"
#include "reentry.h"
#include "turn.h"
#include "unit.h"

#define MS UINT64_C(1000000)

static struct conn *c;

static void set_up(void) {
    c = fake_kernel_connected(MODE_CORK);
}

TestSuite(window, .init = set_up, .timeout = 20);

static void configure(const char *setting) {
    static char copy[64];
    snprintf(copy, sizeof(copy), "%s", setting);
    config_load((char *[]){copy, NULL}, "prog");
}

/* ---- its pace ----------------------------------------------------------- */

/* 16 ticks in which every hold ended by itself are calm; 16 that found a hold are busy. */
static const struct {
    const char *name;
    struct pace pace;
    uint32_t us;
    bool slow;
} paces[] = {
    {"at the start", {0}, 1000, false},
    {"not yet calm", {.calm = 15}, 1000, false},
    {"calm", {.calm = 16}, 8000, true},
    {"calm and slow", {.calm = 99, .slow = true}, 8000, true},
    {"a hold was found by a slow tick", {.calm = 16, .waits = true, .slow = true}, 1000, false},
    {"a hold was found by a quick one", {.calm = 16, .waits = true}, 1000, false},
    {"nearly busy", {.calm = 16, .open = 15, .waits = true}, 1000, false},
    {"busy, a hold was found", {.calm = 16, .open = 16, .waits = true}, 4500, false},
    {"busy, none was", {.calm = 16, .open = 16}, 4500, false},
    {"busy, found by a slow tick", {.calm = 16, .open = 16, .waits = true, .slow = true}, 1000, false},
    {"busy, but a hold was too old", {.calm = 3, .open = 16}, 1000, false},
};

static const struct {
    const char *name;
    struct pace before;
    struct tick tick;
    unsigned calm, open;
} keeps[] = {
    {"nothing held", {.calm = 4, .open = 3}, {.waits = false}, 5, 2},
    {"nothing held, none open", {.calm = 4}, {.waits = false}, 5, 0},
    {"held, and young", {.calm = 4, .open = 3}, {.waits = true}, 5, 4},
    {"held, and nearly as often as is counted", {.open = 31}, {.waits = true}, 1, 32},
    {"held, and as often as is counted", {.open = 32}, {.waits = true}, 1, 32},
    {"too old", {.calm = 4, .open = 3}, {.waits = true, .expired = true}, 0, 0},
};

Test(window, its_pace) {
    EACH_ROW(row, paces) {
        struct pace p = row->pace;
        EXPECT_INT(row->name, next_tick_us(&p), row->us);
        EXPECT_INT(row->name, p.slow, row->slow);
    }
    EACH_ROW(row, keeps) {
        struct pace p = row->before;
        keep_pace(&p, &row->tick);
        EXPECT_INT(row->name, p.calm, row->calm);
        EXPECT_INT(row->name, p.open, row->open);
        EXPECT_INT(row->name, p.waits, row->tick.waits);
    }
    static const uint32_t windows[] = {500, 3999, 4000, 4001, 100000};
    for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
        struct config next = *config();
        next.window_us = windows[i];
        ASSERT(config_publish(config(), &next));
        EXPECT_INT("tick", tick_us(), windows[i] < 4000 ? windows[i] : 4000);
        EXPECT_INT("long", window_is_long(), windows[i] > 4000);
    }
}

/* Which states of the thread must be decided before a write that may be held. */
Test(window, what_is_decided_first) {
    for (int state = WINDOW_NONE; state <= WINDOW_REFUSED; state++)
        for (int mode = 0; mode < MODES; mode++)
            for (int bursty = 0; bursty < 2; bursty++) {
                struct policy p = {.mode = (uint8_t)mode, .bursty = bursty};
                bool might = mode == MODE_CORK || mode == MODE_COALESCE || (mode == MODE_AUTO && bursty);
                bool wanted = (state == WINDOW_NONE && might) ||
                              (state == WINDOW_WITHOUT && mode == MODE_COALESCE);
                cr_expect(window_undecided((enum window_state)state, &p) == wanted, "%d %s %d", state,
                          mode_names[mode], bursty);
                window_now = state;
                hold_refused = bursty && mode % 2;
                config_switch(MODE_CORK, bursty && mode % 2 == 0);
                struct policy_limits limits = decide_limits();
                EXPECT_INT("may hold", limits.may_hold, state < WINDOW_STOPS && !bursty);
                EXPECT_INT("windowless", limits.windowless, state == WINDOW_WITHOUT || state == WINDOW_NEVER);
            }
}

/* ---- its life ----------------------------------------------------------- */

enum { TRIES = 10 };

static bool starts(void) {
    for (int i = 0; i < TRIES; i++) {
        window_decide(true, 1);
        if (window_state() == WINDOW_RUNS)
            return true;
    }
    return false;
}

/* As a write does: the thread may have left since the last hold. */
static void begin(bool held, const char *bytes) {
    ASSERT(conn_lock(c));
    c->held = held;
    if (bytes)
        ASSERT(unit_buffer(c, bytes));
    while (!window_watch(c)) {
        conn_unlock(c);
        ASSERT(starts());
        ASSERT(conn_lock(c));
    }
    conn_unlock(c);
}

static bool within_ms(long ms, bool (*done)(void)) {
    for (long i = 0; i < ms; i++) {
        if (done())
            return true;
        usleep(1000);
    }
    return done();
}

static bool pushed(void) {
    ASSERT(conn_lock(c));
    bool gone = !c->held && buffer_length(c) == 0;
    conn_unlock(c);
    return gone;
}

static bool none_there(void) {
    return window_state() == WINDOW_NONE;
}

static bool taken_by_the_thread(void) {
    return !LOAD(&window_incoming);
}

/* A hold that begins late in a tick has that tick's rest and its window: two ticks of a short one.  A late
 * tick, too, takes at most an eighth of a tick from a long one. */
Test(window, not_before_the_window) {
    static const struct {
        const char *setting;
        uint64_t least_us;
    } rows[] = {{"UNSTALL_WINDOW_US=2000", 2000}, {"UNSTALL_WINDOW_US=8000", 7500},
                {"UNSTALL_WINDOW_US=100000", 99500}};
    EACH_ROW(row, rows) {
        configure(row->setting);
        window_ticks = 1000; /* it has ticked before */
        ASSERT(starts());
        for (int i = 0; i < 5; i++) {
            uint64_t tick = LOAD(&window_ticks);
            begin(true, NULL);
            for (int n = 0; n < 100 && LOAD(&window_ticks) == tick && !pushed(); n++)
                usleep(100); /* it ticks now */
            usleep(i * 800);
            ASSERT(within_ms(5000, pushed));
            uint64_t begun = clock_now();
            begin(true, NULL);
            ASSERT(within_ms(5000, pushed));
            uint64_t us = (clock_now() - begun) / 1000;
            cr_expect(us >= row->least_us, "%s ended after %d us", row->setting, (int)us);
        }
        window_stop();
    }
}

/* Bytes without room are tried again; a connection that lingers is closed when all has left. */
Test(window, tries_until_all_has_left) {
    for (int lingers = 0; lingers < 2; lingers++) {
        c->policy = (struct policy){.mode = MODE_COALESCE, .established = true, .untracked_io = true};
        fake.send_count = 0;
        fake.sends[0] = fake.sends[1] = -EAGAIN;
        ASSERT(starts());
        c->lingering = lingers;
        begin(false, "abc");
        ASSERT(within_ms(5000, pushed));
        window_stop();
        EXPECT_TEXT("log", fake_log(), lingers ? "send(5,abc) send(5,abc) send(5,abc) close(5)"
                                               : "send(5,abc) send(5,abc) send(5,abc)");
        EXPECT_INT("its place is free", c->refs, !lingers);
    }
}

/* Holds begin and end between the ticks: after sixteen of these each tick takes 8 ms. */
Test(window, ticks_that_find_no_hold_are_slow) {
    enum { CALM = 24, SLOW = 8000000, ENOUGH = 100000000 };
    ASSERT(starts());
    begin(true, NULL);
    ASSERT(conn_lock(c));
    hold_push(c, PUSH_WAIT);
    conn_unlock(c);
    uint64_t begun = 0, first = 0;
    while (!begun || clock_now() - begun < ENOUGH) {
        STORE(&c->held_tick, LOAD(&window_ticks));
        usleep(1000);
        if (!begun && LOAD(&window_ticks) >= CALM) {
            begun = clock_now();
            first = LOAD(&window_ticks);
        }
    }
    uint64_t ticks = LOAD(&window_ticks) - first, most = (clock_now() - begun) / SLOW + 1;
    cr_expect(ticks <= most, "%d ticks, at most %d were expected", (int)ticks, (int)most);
    window_stop();
}

/* It has taken the connection to its own list, or not yet; a place that was given back is in use again. */
Test(window, its_end_pushes_and_another_can_start) {
    configure("UNSTALL_WINDOW_US=100000");
    for (int i = 0; i < 3; i++) {
        ASSERT(starts());
        begin(true, NULL);
        if (i == 1)
            ASSERT(within_ms(2000, taken_by_the_thread));
        if (i == 2) {
            ASSERT(conn_lock(c));
            fds_unlink(c, 5);
            fds_release(c);
            ASSERT(fds_create(6, ORIGIN_SOCKET) == c);
            c->policy.mode = MODE_CORK;
            c->policy.untracked_io = true;
            conn_unlock(c);
            begin(true, NULL);
        }
        errno = 4711;
        window_stop();
        EXPECT_INT("errno", errno, 4711);
        EXPECT(!c->held && !c->ticking);
        EXPECT_TEXT("log", fake_log(), i == 2 ? "nodelay(6,1)" : "nodelay(5,1)");
        EXPECT_INT("state", window_state(), WINDOW_NONE);
    }
}

static int tasks(void) {
    struct stat st;
    return stat("/proc/self/task", &st) == 0 ? (int)st.st_nlink - 2 : -1;
}

static int tasks_before;

static bool is_alone(void) {
    return tasks() == tasks_before;
}

/* It ends by itself, 100 ms after the last hold; told to, it leaves no task, and takes no tag of a lock at
 * each start: there are 65535 (lock.h). */
Test(window, its_end_leaves_nothing) {
    tasks_before = tasks();
    ASSERT(starts());
    begin(true, NULL);
    EXPECT(within_ms(2000, pushed) && within_ms(2000, none_there));
    int seen = 0, gone = 0;
    pthread_t threads[2];
    uint32_t tags[2];
    for (int i = 0; i < 2; i++) {
        ASSERT(pthread_create(&threads[i], NULL, (void *(*)(void *))(void *)thread_tag, NULL) == 0);
        void *tag;
        pthread_join(threads[i], &tag);
        tags[i] = (uint32_t)(uintptr_t)tag;
        for (int n = 0; i == 0 && n < 100; n++) {
            ASSERT(starts());
            bool there = tasks() == tasks_before + 1;
            EXPECT(there || none_there());
            seen += there;
            window_stop();
            gone += is_alone();
            cr_assert(within_ms(5000, is_alone), "a task is left");
        }
    }
    /* the kernel removes a task a moment after its number */
    cr_expect(seen > 50 && gone >= 98, "%d were seen, %d of 100 had gone at the end of the stop", seen, gone);
    EXPECT_INT("no tag was taken", tags[1], tags[0] + 1);
}

/* ---- where it may not start --------------------------------------------- */

/* Another thread's hold, while rights are being changed, would start it with the old ones; libpsx then
 * signals every task of a program with threads, so none starts for 100 ms. */
Test(window, none_starts_while_it_is_barred) {
    ASSERT(starts());
    uint32_t first = window_bar(true), second = window_bar(false);
    EXPECT(none_there() && !starts());
    window_unbar(first);
    EXPECT(!starts());
    window_unbar(second);
    EXPECT(starts());
    window_threads_seen();
    uint64_t begun = clock_now();
    window_unbar(window_bar(true));
    EXPECT(!starts() || clock_now() - begun > 50 * MS);
    EXPECT(within_ms(5000, starts));
    EXPECT(clock_now() - begun >= 90 * MS);
    window_stop();
}

/* A handler forked between the two. */
Test(window, a_bar_of_the_parent_is_none_of_the_child) {
    uint32_t before = window_bar(true);
    lock_forked();
    window_forked();
    window_unbar(before);
    uint32_t its_own = window_bar(true);
    EXPECT(!starts());
    window_unbar(its_own);
    EXPECT(starts());
    window_stop();
}

/* A server that forks for each connection goes on holding; one that changes its rights often does not. */
Test(window, none_starts_after_many_changes_of_rights) {
    for (int i = 0; i < 40; i++) {
        ASSERT(starts());
        window_unbar(window_bar(false));
    }
    int ended = 0;
    for (int i = 0; i < TRIES && ended != 16; i++) {
        if (i > 0) /* one that has ended by itself does not count */
            window_forked();
        for (ended = 0; ended < 100 && starts(); ended++)
            window_unbar(window_bar(true));
    }
    EXPECT_INT("ended", ended, 16);
    EXPECT_INT("state", window_state(), WINDOW_REFUSED);
}

/* The kernel has no room for them: they leave by the thread, which starts at once, or, where there can be
 * none, are sent and waited for. */
Test(window, bytes_that_are_left_when_it_was_stopped) {
    static const char *const threads[] = {"UNSTALL_THREAD=own", "UNSTALL_THREAD=never"};
    for (int i = 0; i < 2; i++) {
        char *settings[] = {(char *)(uintptr_t)threads[i], (char[]){"UNSTALL_MODE=coalesce"}, NULL};
        config_load(settings, "prog");
        c->policy.mode = MODE_COALESCE;
        window_now = WINDOW_NONE;
        window_threads_seen();
        window_goes_on();
        EXPECT_INT("not for nothing", window_state(), WINDOW_NONE);
        window_unbar(window_bar(true));
        fake.send_count = 0;
        fake.sends[0] = -EAGAIN;
        ASSERT(conn_lock(c));
        ASSERT(unit_buffer(c, "abc"));
        conn_unlock(c);
        EXPECT(window_any_has_bytes());
        window_goes_on();
        EXPECT_INT("state", window_state(), i ? WINDOW_NEVER : WINDOW_RUNS);
        EXPECT(within_ms(5000, pushed) && !window_any_has_bytes());
        window_stop();
        fake_log();
    }
}

/* They were taken in at an unlock: its holder had stood still while the thread was stopped and went on. */
Test(window, bytes_taken_in_without_room_leave_by_the_thread) {
    configure("UNSTALL_MODE=coalesce");
    c->policy.mode = MODE_COALESCE;
    window_threads_seen();
    window_now = WINDOW_NONE;
    fake.send_count = 0;
    fake.sends[0] = fake.sends[1] = -EAGAIN;
    ASSERT(conn_lock(c));
    ASSERT(unit_buffer(c, "abc"));
    reentry_set_aside(c, ASIDE_PUSH, 0);
    conn_unlock(c);
    EXPECT_INT("state", window_state(), WINDOW_RUNS);
    EXPECT(within_ms(5000, pushed) && !window_any_has_bytes());
    window_stop();
}

/* The parent's thread had not taken it yet. */
Test(window, a_list_of_the_parent_is_none_of_the_child) {
    window_now = WINDOW_RUNS; /* it is not there */
    begin(true, NULL);
    ASSERT(window_incoming == c);
    lock_forked();
    window_forked();
    EXPECT(!window_incoming);
    begin(true, NULL);
    EXPECT(within_ms(2000, pushed));
    window_stop();
}

/* libc still counts a thread that ended by SYS_exit, so it does not end the process after the last other one:
 * from then on the end of each thread ends ours. */
Test(window, a_thread_that_leaves_by_itself_ends_it_with_each_other_one) {
    bool stays = false;
    for (int i = 0; i < TRIES && !stays; i++) {
        ASSERT(starts());
        window_thread_ends();
        stays = window_state() == WINDOW_RUNS;
    }
    cr_expect(stays, "libc counts threads");
    window_task_exits();
    EXPECT(none_there());
    ASSERT(starts());
    window_thread_ends();
    cr_expect(none_there(), "libc counts one too many");
}
