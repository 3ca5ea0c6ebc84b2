/* SPDX-License-Identifier: MIT
 *
 * The window's thread: it pushes in time, drops connections without a hold from its list, parks, and ends.
 * Times are bounds with room for a busy machine.  A test that gets no processor for 100 ms finds that the
 * thread has ended by itself, so each test that needs the thread tries again.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "config.h"
#include "fake_kernel.h"
#include "fds.h"
#include "buffered.h"
#include "turn.h"
#include "window.h"
#include "unit.h"

static struct conn *c;

static void set_up(void) {
    c = fake_kernel_connected(MODE_CORK);
}

TestSuite(window, .init = set_up, .timeout = 20);

enum { TRIES = 10 };

static bool starts(void) {
    for (int i = 0; i < TRIES; i++) {
        window_decide(true, 1);
        if (window_state() == WINDOW_RUNS)
            return true;
    }
    return false;
}

/* Lock held, which it releases. */
static void watch_and_unlock(void) {
    while (!window_watch(c)) { /* it has left by itself */
        conn_unlock(c);
        ASSERT(starts());
        ASSERT(conn_lock(c));
    }
    conn_unlock(c);
}

/* As a write does: the thread may have left since the last hold. */
static void hold_now(void) {
    ASSERT(conn_lock(c));
    c->held = true;
    watch_and_unlock();
}

static void push_now(void) {
    ASSERT(conn_lock(c));
    hold_push(c, PUSH_WAIT);
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

static bool pushed(void) {
    ASSERT(conn_lock(c));
    bool gone = !c->held && buffer_length(c) == 0;
    conn_unlock(c);
    return gone;
}

static bool off_the_list(void) {
    ASSERT(conn_lock(c));
    bool off = !c->ticking;
    conn_unlock(c);
    return off;
}

Test(window, none_before_the_first_hold) {
    EXPECT_INT("state", window_state(), WINDOW_NONE);
    window_stop(); /* of none: nothing happens */
    EXPECT_INT("state", window_state(), WINDOW_NONE);
}

Test(window, starts_once_and_keeps_errno) {
    errno = 4711;
    EXPECT(starts() && starts());
    EXPECT_INT("errno", errno, 4711);
    window_stop();
}

Test(window, the_window_ends_a_hold) {
    ASSERT(starts());
    for (int i = 0; i < 5; i++) {
        hold_now();
        cr_expect(within_ms(2000, pushed), "hold %d is never pushed", i);
        EXPECT_TEXT("log", fake_log(), "nodelay(5,1)");
        pause_ms(i * 10); /* parked or not */
    }
    EXPECT_INT("counted", c->counts.pushes[PUSH_WINDOW], 5);
    window_stop();
}

Test(window, not_before_the_window) {
    config_load((char *[]){(char[]){"UNSTALL_WINDOW_US=100000"}, NULL}, "prog");
    window_ticks = 1000; /* it has ticked before */
    ASSERT(starts());
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    hold_now();
    EXPECT(within_ms(5000, pushed));
    clock_gettime(CLOCK_MONOTONIC, &ended);
    double ms =
        (double)(ended.tv_sec - begun.tv_sec) * 1e3 + (double)(ended.tv_nsec - begun.tv_nsec) / 1e6;
    cr_expect(ms >= 99, "a window of 100 ms ended after %.1f", ms);
    window_stop();
}

/* A hold that begins late in a tick has that tick's rest and its window.  A late tick, too, takes at
 * most an eighth of a tick from it. */
Test(window, the_rest_of_a_tick_does_not_count) {
    enum { TICK_US = 4000, WINDOW_US = 2 * TICK_US };
    config_load((char *[]){(char[]){"UNSTALL_WINDOW_US=8000"}, NULL}, "prog");
    ASSERT(starts());
    hold_now(); /* from now on it ticks */
    for (int i = 0; i < 5; i++) {
        EXPECT(within_ms(5000, pushed));
        for (uint64_t tick = LOAD(&window_ticks); LOAD(&window_ticks) == tick && !off_the_list();)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        nanosleep(&(struct timespec){.tv_nsec = (TICK_US - 1000) * 1000L}, NULL);
        uint64_t begun = clock_now();
        hold_now();
        EXPECT(within_ms(5000, pushed));
        uint64_t us = (clock_now() - begun) / 1000;
        cr_expect(us >= WINDOW_US - TICK_US / 8, "a window of %d us ended after %d", WINDOW_US, (int)us);
    }
    window_stop();
}

Test(window, buffered_bytes_are_tried_again) {
    c->policy.mode = MODE_COALESCE;
    fake.sends[0] = fake.sends[1] = fake.sends[2] = -EAGAIN;
    ASSERT(starts());
    ASSERT(conn_lock(c));
    ASSERT(unit_buffer(c, "abc"));
    watch_and_unlock();
    EXPECT(within_ms(2000, pushed));
    EXPECT_TEXT("log", fake_log(), "send(5,abc) send(5,abc) send(5,abc) send(5,abc)");
    window_stop();
}

Test(window, what_holds_no_more_leaves_the_list) {
    ASSERT(starts());
    hold_now();
    push_now();
    EXPECT(within_ms(2000, off_the_list));
    hold_now();
    cr_expect(within_ms(2000, pushed), "and comes back at the next hold");
    window_stop();
}

/* Holds begin and end between the ticks: after sixteen of these each tick takes 8 ms. */
Test(window, ticks_that_find_no_hold_are_slow) {
    enum { CALM = 24, SLOW = 8000000, ENOUGH = 100000000 };
    ASSERT(starts());
    hold_now();
    push_now();
    uint64_t begun = 0, first = 0;
    while (!begun || clock_now() - begun < ENOUGH) {
        STORE(&c->held_tick, LOAD(&window_ticks));
        pause_ms(1);
        if (!begun && (LOAD(&window_ticks) >= CALM || off_the_list())) {
            begun = clock_now();
            first = LOAD(&window_ticks);
        }
    }
    uint64_t ticks = LOAD(&window_ticks) - first, most = (clock_now() - begun) / SLOW + 1;
    cr_expect(ticks <= most, "%d ticks, at most %d were expected", (int)ticks, (int)most);
    window_stop();
}

Test(window, a_connection_released_while_on_the_list) {
    ASSERT(starts());
    hold_now();
    ASSERT(conn_lock(c));
    fds_unlink(c, 5);
    fds_release(c);
    struct conn *again = fds_create(6, ORIGIN_SOCKET);
    ASSERT(again == c);
    again->policy.mode = MODE_CORK;
    again->policy.untracked_io = true;
    conn_unlock(again);
    fake_log();
    hold_now();
    EXPECT(within_ms(2000, pushed));
    EXPECT_TEXT("the new descriptor", fake_log(), "nodelay(6,1)");
    window_stop();
}

Test(window, the_end_pushes_and_another_can_start) {
    config_load((char *[]){(char[]){"UNSTALL_WINDOW_US=100000"}, NULL}, "prog");
    for (int i = 0; i < 3; i++) {
        ASSERT(starts());
        hold_now();
        window_stop();
        EXPECT(!c->held && !c->ticking);
        EXPECT_TEXT("log", fake_log(), "nodelay(5,1)");
        EXPECT_INT("state", window_state(), WINDOW_NONE);
    }
}

static bool taken_by_the_thread(void) {
    return !LOAD(&window_incoming);
}

/* It pushes the connections of its own list itself. */
Test(window, the_end_pushes_what_it_has_taken) {
    config_load((char *[]){(char[]){"UNSTALL_WINDOW_US=100000"}, NULL}, "prog");
    ASSERT(starts());
    hold_now();
    ASSERT(within_ms(2000, taken_by_the_thread));
    window_stop();
    EXPECT(!c->held && !c->ticking);
    EXPECT_TEXT("log", fake_log(), "nodelay(5,1)");
}

static void use(const char *thread) {
    char setting[64] = "UNSTALL_THREAD=";
    config_load((char *[]){strcat(setting, thread), NULL}, "prog");
}

static int tasks(void) {
    struct stat st;
    return stat("/proc/self/task", &st) == 0 ? (int)st.st_nlink - 2 : -1;
}

/* The runner has a thread of its own; a child of it has one task. */
static void in_a_child(int (*test)(void)) {
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(tasks() == 1 ? test() : 99);
    ASSERT(waitpid(child, &status, 0) == child);
    EXPECT_INT("the line that went wrong, or 0", WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

#define WANT(what)           \
    do {                     \
        if (!(what))         \
            return __LINE__; \
    } while (0)

static bool none_there(void) {
    return window_state() == WINDOW_NONE;
}

static int stays_one(void) {
    window_decide(false, 1);
    WANT(window_state() == WINDOW_WITHOUT && window_windowless(window_state()));
    hold_now();
    WANT(!c->ticking && tasks() == 1);
    WANT(starts() && (tasks() == 2 || none_there())); /* coalesce */
    window_stop();
    WANT(tasks() == 1);
    return 0;
}

Test(window, a_single_thread_stays_one) {
    in_a_child(stays_one);
}

/* The first turn does not wait for its start; a second one within 100 ms starts it. */
static bool starts_at_the_second_turn(void) {
    for (int i = 0; i < TRIES; i++) {
        uint64_t begun = clock_now();
        window_decide(false, 1);
        if (i == 0 && !none_there())
            return false;
        window_decide(false, 1);
        if (window_state() == WINDOW_RUNS)
            return true;
        if (clock_now() - begun < 90000000)
            return false;
    }
    return false;
}

static int is_decided_anew(void) {
    window_decide(false, 1);
    window_threads_seen();
    WANT(window_state() == WINDOW_NONE && tasks() == 1);
    WANT(starts_at_the_second_turn());
    WANT(tasks() == 2 || none_there());
    window_forked(); /* as if: the thread stays */
    WANT(window_state() == WINDOW_NONE);
    return 0;
}

Test(window, a_thread_of_the_program_allows_one) {
    in_a_child(is_decided_anew);
}

/* The runner's thread is one that the library did not see being made. */
Test(window, a_task_that_was_not_seen_allows_one) {
    cr_assert(tasks() > 1);
    EXPECT(starts_at_the_second_turn());
    window_stop();
}

Test(window, never) {
    use("never");
    window_threads_seen();
    window_decide(true, 1);
    EXPECT_INT("state", window_state(), WINDOW_NEVER);
    window_decide(true, 1);
    EXPECT_INT("state", window_state(), WINDOW_NEVER);
    window_stop(); /* of none: nothing is decided anew, and none was ended */
    EXPECT_INT("state", window_state(), WINDOW_NEVER);
    for (int i = 0; i < 20; i++)
        window_unbar(window_bar(true));
    EXPECT_INT("state", window_state(), WINDOW_NEVER);
}

Test(window, always) {
    use("always");
    bool runs = false;
    for (int i = 0; i < TRIES && !runs; i++) {
        uint64_t begun = clock_now();
        window_decide(false, 1);
        runs = window_state() == WINDOW_RUNS;
        if (!runs && clock_now() - begun < 90000000)
            break;
    }
    EXPECT(runs);
    window_stop();
}

Test(window, ends_by_itself_and_starts_again) {
    for (int i = 0; i < 3; i++) {
        ASSERT(starts());
        hold_now();
        EXPECT(within_ms(2000, pushed));
        EXPECT(within_ms(2000, none_there));
    }
    window_stop(); /* of one that has left, or is about to */
    EXPECT_INT("state", window_state(), WINDOW_NONE);
}

static int tasks_before;

static bool is_alone(void) {
    return tasks() == tasks_before;
}

/* The kernel removes a task a moment after its number.  One that gets no processor for 100 ms then is not
 * waited for any longer. */
Test(window, its_end_leaves_no_task) {
    int before = tasks_before = tasks(), seen = 0, gone = 0;
    for (int i = 0; i < 100; i++) {
        ASSERT(starts());
        bool there = tasks() == before + 1;
        EXPECT(there || none_there()); /* after 100 ms it ends by itself */
        seen += there;
        window_stop();
        gone += tasks() == before;
        cr_assert(within_ms(5000, is_alone), "a task is left");
    }
    EXPECT(seen > 50);
    cr_expect(gone >= 98, "%d of 100 had gone at the end of the stop", gone);
}

Test(window, a_thread_that_leaves_by_itself_ends_it_with_each_other_one) {
    window_thread_ends();
    bool stays = false;
    for (int i = 0; i < TRIES && !stays; i++) {
        ASSERT(starts());
        window_thread_ends();
        stays = window_state() == WINDOW_RUNS;
    }
    cr_expect(stays, "libc counts threads");
    window_task_exits();
    EXPECT_INT("state", window_state(), WINDOW_NONE);
    ASSERT(starts());
    window_thread_ends();
    EXPECT_INT("libc counts one too many", window_state(), WINDOW_NONE);
}

static bool closed(void) {
    return strstr(fake.log_buffer, "close(5)");
}

/* Everything of a closed connection leaves by a descriptor of our own, which is then closed. */
Test(window, a_lingering_connection) {
    c->policy.mode = MODE_COALESCE;
    fake.sends[0] = -EAGAIN;
    ASSERT(starts());
    ASSERT(conn_lock(c));
    ASSERT(unit_buffer(c, "abc"));
    c->lingering = true;
    watch_and_unlock();
    EXPECT(within_ms(5000, closed));
    EXPECT_TEXT("log", fake_log(), "send(5,abc) send(5,abc) close(5)");
    EXPECT_INT("word", fds_word(5), FDS_UNKNOWN);
    EXPECT_INT("its place is free", c->refs, 0);
    window_stop();
}

static void *my_tag(void *told) {
    *(uint32_t *)told = thread_tag();
    return NULL;
}

static uint32_t next_tag(void) {
    uint32_t tag = 0;
    pthread_t other;
    ASSERT(pthread_create(&other, NULL, my_tag, &tag) == 0);
    pthread_join(other, NULL);
    return tag;
}

/* There are 65535 tags of threads, and it may start more often. */
Test(window, it_has_the_same_tag_at_each_start) {
    ASSERT(starts());
    window_stop();
    uint32_t before = next_tag();
    for (int i = 0; i < 20; i++) {
        ASSERT(starts());
        window_stop();
    }
    EXPECT_INT("no other was taken", next_tag(), before + 1);
}

/* Another thread's hold, while rights are being changed, would start it with the old ones. */
Test(window, none_starts_while_it_is_barred) {
    ASSERT(starts());
    uint32_t first = window_bar(true), second = window_bar(true);
    EXPECT_INT("state", window_state(), WINDOW_NONE);
    EXPECT(!starts());
    window_unbar(first);
    EXPECT(!starts());
    window_unbar(second);
    EXPECT(starts());
    window_stop();
}

/* libpsx signals every task of a program with threads after it has changed the caller's rights. */
Test(window, none_starts_soon_after_a_change_of_rights_in_a_program_with_threads) {
    window_threads_seen();
    ASSERT(starts());
    uint64_t begun = clock_now();
    window_unbar(window_bar(true));
    EXPECT(!starts() || clock_now() - begun > 50000000);
    EXPECT(within_ms(5000, starts));
    uint64_t ms = (clock_now() - begun) / 1000000;
    cr_expect(ms >= 90, "it started after %d ms", (int)ms);
    window_stop();
}

/* The kernel has no room for them, so that they leave by the thread alone. */
Test(window, it_starts_at_once_where_bytes_are_left) {
    c->policy.mode = MODE_COALESCE;
    config_load((char *[]){(char[]){"UNSTALL_MODE=coalesce"}, NULL}, "prog");
    for (int i = 0; i < FAKE_SENDS; i++)
        fake.sends[i] = -EAGAIN;
    window_threads_seen();
    window_goes_on();
    EXPECT_INT("not for nothing", window_state(), WINDOW_NONE);
    ASSERT(conn_lock(c));
    ASSERT(unit_buffer(c, "abc"));
    conn_unlock(c);
    uint32_t barred = window_bar(true);
    window_unbar(barred);
    window_goes_on();
    EXPECT_INT("state", window_state(), WINDOW_RUNS);
    memset(fake.sends, 0, sizeof(fake.sends));
    EXPECT(within_ms(5000, pushed));
    window_stop();
}

static long tasks_that_are_it(void) {
    long found = 0;
    DIR *folder = opendir("/proc/self/task");
    ASSERT(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        found += window_is_task(atol(entry->d_name));
    closedir(folder);
    return found;
}

Test(window, its_task_is_known) {
    EXPECT(!window_is_task(0) && !window_is_task(getpid()));
    long found = 0;
    for (int i = 0; i < 10 && !found; i++) { /* after 100 ms it ends by itself */
        ASSERT(starts());
        found = tasks_that_are_it();
    }
    EXPECT_INT("tasks that are it", found, 1);
    window_stop();
    EXPECT(!window_is_task(0));
}

/* A handler forked between the two: in the child nothing is barred any more. */
Test(window, a_bar_of_the_parent_is_none_of_the_child) {
    uint32_t before = window_bar(true);
    lock_forked();
    window_forked();
    window_unbar(before);
    uint32_t own = window_bar(true);
    EXPECT(!starts());
    window_unbar(own);
    EXPECT(starts());
    window_stop();
}

/* The parent's thread had not taken it yet. */
Test(window, a_list_of_the_parent_is_none_of_the_child) {
    window_now = WINDOW_RUNS; /* it is not there */
    hold_now();
    ASSERT(window_incoming == c);
    lock_forked();
    window_forked();
    EXPECT(!window_incoming);
    hold_now();
    EXPECT(within_ms(2000, pushed));
    window_stop();
}

/* A server that forks for each connection goes on holding. */
Test(window, one_starts_after_many_forks) {
    for (int i = 0; i < 40; i++) {
        ASSERT(starts());
        window_unbar(window_bar(false));
    }
    ASSERT(starts());
    window_stop();
}

Test(window, none_starts_after_many_changes_of_rights) {
    int ended = 0;
    for (int i = 0; i < TRIES && ended != 16; i++) { /* one that has ended by itself does not count */
        window_forked();
        for (ended = 0; ended < 100 && starts(); ended++)
            window_unbar(window_bar(true));
    }
    EXPECT_INT("ended", ended, 16);
    EXPECT_INT("state", window_state(), WINDOW_REFUSED);
}
