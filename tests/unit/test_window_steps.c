/* SPDX-License-Identifier: MIT
 *
 * The steps of the window's thread, without the thread: the length of a tick, which hold is too old, the
 * effect of a look at a connection, which one stays on the list, and whether the thread leaves.
 * test_window.c has the thread itself.  No test can measure its times exactly on a busy machine, so this file
 * takes its source in.
 */
#include "../../src/preload/hold/window.c" /* NOLINT(bugprone-suspicious-include) */

#include <pthread.h>

#include "buffered.h"
#include "fake_kernel.h"
#include "unit.h"

#define MS UINT64_C(1000000)

static struct conn *c;

static void set_up(void) {
    c = fake_kernel_connected(MODE_CORK);
    window_now = WINDOW_RUNS;
}

TestSuite(window_steps, .init = set_up, .timeout = 20);

static void window_of(uint32_t us) {
    struct config next = *config();
    next.window_us = us;
    ASSERT(config_publish(config(), &next));
}

/* ---- the length of a tick ----------------------------------------------- */

static const struct {
    uint32_t window, tick;
    bool is_long;
} windows[] = {{500, 500, false},   {1000, 1000, false},  {3999, 3999, false}, {4000, 4000, false},
               {4001, 4000, true}, {100000, 4000, true}};

Test(window_steps, ticks_of_a_window) {
    EACH_ROW(row, windows) {
        window_of(row->window);
        EXPECT_INT("tick", tick_us(), row->tick);
        EXPECT_INT("long", window_is_long(), row->is_long);
    }
}

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

Test(window_steps, the_next_tick) {
    window_of(1000);
    EACH_ROW(row, paces) {
        struct pace p = row->pace;
        EXPECT_INT(row->name, next_tick_us(&p), row->us);
        EXPECT_INT(row->name, p.slow, row->slow);
    }
}

static const struct {
    const char *name;
    struct pace before;
    struct tick tick;
    unsigned calm, open;
} keeps[] = {
    {"nothing held", {.calm = 4, .open = 3}, {0}, 5, 2},
    {"nothing held, none open", {.calm = 4}, {0}, 5, 0},
    {"held, and young", {.calm = 4, .open = 3}, {.waits = true}, 5, 4},
    {"held, and nearly as often as is counted", {.open = 31}, {.waits = true}, 1, 32},
    {"held, and as often as is counted", {.open = 32}, {.waits = true}, 1, 32},
    {"too old", {.calm = 4, .open = 3}, {.waits = true, .expired = true}, 0, 0},
};

Test(window_steps, what_a_tick_teaches) {
    EACH_ROW(row, keeps) {
        struct pace p = row->before;
        keep_pace(&p, &row->tick);
        EXPECT_INT(row->name, p.calm, row->calm);
        EXPECT_INT(row->name, p.open, row->open);
        EXPECT_INT(row->name, p.waits, row->tick.waits);
    }
}

/* ---- the age of a hold -------------------------------------------------- */

static void ticks_every(uint64_t ns) {
    for (uint64_t i = 0; i < TICKS_KEPT; i++)
        tick_times[i] = (i + TICKS_KEPT) * ns;
}

static struct tick tick_at(uint64_t number, uint64_t ns) {
    return (struct tick){.number = number, .ns = ns};
}

/* A hold that began in tick n is a window old at tick n + 2: the rest of tick n may have been short. */
Test(window_steps, a_short_window_is_over_after_two_ticks) {
    window_of(1000);
    for (uint64_t age = 0; age < 4; age++) {
        struct tick now = tick_at(100 + age, 0);
        EXPECT_INT("over", window_is_over(100, &now), age >= 2);
    }
}

/* A long one: by the time since the tick that followed, less an eighth of a tick. */
Test(window_steps, a_long_window_is_over_by_the_clock) {
    window_of(20000);
    ticks_every(4 * MS);
    uint64_t since = TICKS_KEPT + 3, next = (since + 1) * 4 * MS;
    for (uint64_t age = 0; age < 9; age++) {
        struct tick soon = tick_at(since + age, next + 19500000 - 1), late = tick_at(since + age,
            next + 19500000);
        EXPECT(!window_is_over(since, &soon));
        EXPECT_INT("over", window_is_over(since, &late), age > 0);
    }
    struct tick long_ago = tick_at(since + TICKS_KEPT, next);
    cr_expect(window_is_over(since, &long_ago), "so old that the time of its tick is forgotten");
    long_ago.number--;
    cr_expect(!window_is_over(since, &long_ago), "one whose tick is the oldest that is known");
}

/* ---- a look without the lock -------------------------------------------- */

static const struct {
    const char *name;
    uint64_t age;
    bool held, buffered, lingers, nothing, waits;
} needs[] = {
    {"held, young", 1, true, false, false, true, true},
    {"buffered, young", 1, false, true, false, true, true},
    {"held, old", 2, true, false, false, false, false},
    {"buffered, old", 2, false, true, false, false, false},
    {"held no more, young", 1, false, false, false, true, false},
    {"held no more", 2, false, false, false, true, false},
    {"held no more, for long", 9, false, false, false, true, false},
    {"held no more, for too long", 10, false, false, false, false, false},
    {"it lingers", 0, false, true, true, false, false},
};

static void buffered(const char *bytes) {
    ASSERT(unit_buffer(c, bytes));
}

Test(window_steps, what_needs_nothing) {
    window_of(1000);
    EACH_ROW(row, needs) {
        c->held = row->held;
        c->lingering = row->lingers;
        if (row->buffered)
            buffered("abc");
        c->held_tick = 100;
        struct tick now = tick_at(100 + row->age, 0);
        EXPECT_INT(row->name, needs_nothing(c, &now), row->nothing);
        EXPECT_INT(row->name, now.waits, row->waits);
        EXPECT(!now.expired);
        buffer_free(c);
    }
}

/* ---- a look with it ----------------------------------------------------- */

static const struct {
    const char *name;
    uint64_t age;
    bool held, buffered, lingers, taken, room;
    bool stays, expired, waits;
    const char *log;
} looks[] = {
    {"held, young", 1, true, false, false, false, true, true, false, true, ""},
    {"held, old", 2, true, false, false, false, true, true, true, true, "nodelay(5,1)"},
    {"buffered, old", 2, false, true, false, false, true, true, true, true, "send(5,abc)"},
    {"buffered, old, no room", 2, false, true, false, false, false, true, true, true, "send(5,abc)"},
    {"a thread has the lock", 2, true, false, false, true, true, true, false, false, ""},
    {"held no more", 9, false, false, false, false, true, true, false, false, ""},
    {"held no more, for too long", 10, false, false, false, false, true, false, false, false, ""},
    {"it lingers, young", 1, false, true, true, false, true, true, false, true, ""},
    {"it lingers, old", 2, false, true, true, false, true, true, true, true, "send(5,abc) close(5)"},
    {"it lingers, old, no room", 2, false, true, true, false, false, true, true, true, "send(5,abc)"},
    {"it lingers, and has sent all", 1, false, false, true, false, true, true, false, false, "close(5)"},
};

Test(window_steps, a_look) {
    window_of(1000);
    EACH_ROW(row, looks) {
        c = fds_create(5, ORIGIN_SOCKET);
        c->policy.mode = row->buffered ? MODE_COALESCE : MODE_CORK;
        c->policy.established = c->policy.untracked_io = true;
        c->policy.input_ever = true;
        c->held = row->held;
        c->lingering = row->lingers;
        c->ticking = true;
        if (row->buffered)
            buffered("abc");
        conn_unlock(c);
        c->held_tick = 100;
        if (row->taken)
            c->lock |= 1;
        fake.send_count = 0;
        fake.sends[0] = row->room ? 0 : -EAGAIN;
        struct tick now = tick_at(100 + row->age, 0);
        EXPECT_INT(row->name, check_hold(c, &now), row->stays);
        EXPECT_TEXT(row->name, fake_log(), row->log);
        EXPECT_INT(row->name, now.expired, row->expired);
        EXPECT_INT(row->name, now.waits, row->waits);
        EXPECT_INT(row->name, c->ticking, row->stays);
        EXPECT_INT(row->name, self.depth, 0);
        EXPECT_INT(row->name, c->lock & 3, row->taken);
        bool ended = strstr(row->log, "close") != NULL;
        EXPECT_INT(row->name, c->refs, !ended);
        EXPECT_INT(row->name, fds_word(5) == FDS_UNKNOWN, ended);
        c->lock = lock_free_word();
        c->held = c->lingering = c->ticking = c->flush_blocked = false;
        buffer_free(c);
    }
}

/* A place of the pool that no connection has: it leaves the list when it is old. */
Test(window_steps, a_look_at_a_place_that_is_free) {
    c->ticking = true;
    ASSERT(conn_lock(c));
    fds_unlink(c, 5);
    fds_release(c);
    c->held_tick = 100;
    struct tick now = tick_at(109, 0);
    EXPECT(check_hold(c, &now) && c->ticking);
    now.number++;
    EXPECT(!check_hold(c, &now) && !c->ticking);
    EXPECT(!now.waits && !now.expired);
    EXPECT_TEXT("nothing", fake_log(), "");
}

/* ---- the list ----------------------------------------------------------- */

enum { MANY = 5 };

static struct conn *all[MANY];

static void make_list(void) {
    for (int i = 0; i < MANY; i++) {
        all[i] = fds_create(10 + i, ORIGIN_SOCKET);
        all[i]->policy.established = all[i]->policy.untracked_io = true;
        all[i]->policy.mode = MODE_CORK;
        all[i]->ticking = true;
        all[i]->held_tick = 100;
        conn_unlock(all[i]);
        all[i]->next_ticking = i ? all[i - 1] : NULL;
    }
}

static unsigned members(const struct conn *list) {
    unsigned found = 0;
    for (; list; list = list->next_ticking)
        for (int i = 0; i < MANY; i++)
            found |= list == all[i] ? 1u << i : 0;
    return found;
}

Test(window_steps, who_stays_on_the_list) {
    for (unsigned held = 0; held < 1u << MANY; held++) {
        make_list();
        for (int i = 0; i < MANY; i++)
            all[i]->held_tick = held >> i & 1 ? 105 : 100; /* young, or for too long */
        struct tick now = tick_at(110, 0);
        EXPECT_INT("those on it", members(check_all(all[MANY - 1], &now)), held);
        for (int i = 0; i < MANY; i++)
            EXPECT_INT("it knows", all[i]->ticking, held >> i & 1);
    }
}

Test(window_steps, what_comes_to_the_list) {
    make_list();
    EXPECT(take_incoming(NULL) == NULL);
    window_incoming = all[2]; /* with two behind it */
    EXPECT_INT("all three", members(take_incoming(NULL)), 7);
    EXPECT(!window_incoming);
    make_list();
    all[3]->next_ticking = NULL;
    window_incoming = all[2];
    EXPECT_INT("before those that were there", members(take_incoming(all[3])), 15);
}

Test(window_steps, at_the_end_all_leaves) {
    make_list();
    all[2]->next_ticking = NULL;
    window_incoming = all[1]; /* and one behind it */
    for (int i = 0; i < MANY; i++)
        all[i]->held = true;
    push_all(all[MANY - 1]);
    for (int i = 0; i < MANY; i++)
        EXPECT(!all[i]->held && !all[i]->ticking && (all[i]->lock & 3) == 0);
    EXPECT_INT("counted", all[0]->counts.pushes[PUSH_PROCESS], 1);
    EXPECT_INT("depth", self.depth, 0);
}

/* ---- the park, and the end ---------------------------------------------- */

static long parked_ms(bool *again) {
    uint64_t begun = clock_now();
    *again = sleep_until_hold();
    return (long)((clock_now() - begun) / MS);
}

Test(window_steps, a_park_ends_by_its_time_or_at_once) {
    bool again;
    long ms = parked_ms(&again);
    cr_expect(!again && ms >= 99, "%ld ms", ms);
    EXPECT_INT("not parked any more", window_parked, 0);
    window_incoming = c;
    ms = parked_ms(&again);
    cr_expect(again && ms < 99, "%ld ms", ms);
    window_incoming = NULL;
    stopping = 1;
    ms = parked_ms(&again);
    cr_expect(again && ms < 99, "%ld ms", ms);
}

static void *wakes(void *late) {
    while (!LOAD(&window_parked) && !LOAD((bool *)late))
        raw_sleep(100000);
    window_unpark();
    return NULL;
}

/* A waker that gets no processor for 100 ms comes too late. */
Test(window_steps, a_park_ends_by_a_hold) {
    bool again = false;
    for (int i = 0; i < 20 && !again; i++) {
        bool late = false;
        pthread_t waker;
        ASSERT(pthread_create(&waker, NULL, wakes, &late) == 0);
        again = sleep_until_hold();
        STORE(&late, true);
        pthread_join(waker, NULL);
    }
    EXPECT(again && !window_parked);
}

Test(window_steps, whether_it_leaves) {
    EXPECT(exit_if_idle());
    EXPECT_INT("state", window_state(), WINDOW_NONE);
    window_now = WINDOW_RUNS;
    window_incoming = c;
    EXPECT(!exit_if_idle());
    EXPECT_INT("it stays for a hold that came", window_state(), WINDOW_RUNS);
    window_incoming = NULL;
    start_lock = lock_my_word() + 5; /* another thread starts or ends it */
    EXPECT(!exit_if_idle());
    EXPECT_INT("state", window_state(), WINDOW_RUNS);
    EXPECT_INT("depth", self.depth, 0);
}

/* ---- sleeps ------------------------------------------------------------- */

/* From the last tick on, so that delays do not add up, unless it is more than a tick ago. */
static const struct {
    const char *name;
    bool adds_up;
    uint64_t ago_ms; /* the last tick */
    bool from_it;
} sleeps[] = {
    {"delays do not count", false, 5, false},
    {"from the last tick", true, 5, true},
    {"from one that was late", true, 25, true},
    {"from one too long ago", true, 45, false},
};

Test(window_steps, until_when_it_sleeps) {
    enum { US = 20000 };
    EACH_ROW(row, sleeps) {
        uint64_t begun = clock_now(), last = begun - row->ago_ms * MS, due = last;
        clock_stopped = begun; /* a busy machine may take a tick from us before the sleep */
        sleep_us(US, row->adds_up, &due);
        clock_stopped = 0;
        EXPECT_INT(row->name, due, (row->from_it ? last : begun) + 20 * MS);
        cr_expect(clock_now() >= due, "%s: too soon", row->name);
    }
    stopping = 1;
    uint64_t begun = clock_now(), due = begun;
    sleep_us(500000, false, &due);
    cr_expect(clock_now() - begun < 400 * MS, "it is told to end");
}

/* ---- processes with a thread -------------------------------------------------- */

static const struct {
    const char *name;
    enum thread_use use;
    bool buffers, seen, wanted;
} uses[] = {
    {"always", THREAD_ALWAYS, false, false, true},
    {"never", THREAD_NEVER, true, true, false},
    {"own, a thread was seen", THREAD_OWN, false, true, true},
    {"own, it buffers", THREAD_OWN, true, false, true},
};

Test(window_steps, who_gets_a_thread) {
    EACH_ROW(row, uses) {
        struct config next = *config();
        next.thread = (uint8_t)row->use;
        ASSERT(config_publish(config(), &next));
        threads_seen = row->seen;
        EXPECT_INT(row->name, is_wanted(row->buffers), row->wanted);
    }
}

/* The thread is decided about where no call of ours is forbidden, none is barred, and none runs. */
Test(window_steps, where_it_is_decided) {
    for (int state = WINDOW_NONE; state <= WINDOW_REFUSED; state++)
        for (int buffers = 0; buffers < 2; buffers++)
            for (int barred = 0; barred < 2; barred++)
                for (int filter = 0; filter < 2; filter++) {
                    config_load((char *[]){(char[]){"UNSTALL_THREAD=never"}, NULL}, "prog");
                    config_switch(MODE_CORK, filter);
                    window_now = state;
                    start_inhibitors = (uint32_t)barred;
                    hold_acted = false;
                    decide_state(buffers, 1, false);
                    bool decides = !barred && !filter &&
                                   (state == WINDOW_NONE || (state == WINDOW_WITHOUT && buffers));
                    EXPECT_INT("state", window_state(), decides ? WINDOW_NEVER : state);
                    EXPECT(hold_acted);
                    EXPECT_INT("depth", self.depth, 0);
                }
}

/* A turn last wanted to hold so long `ago`; 0: none did. */
static const struct {
    const char *name;
    enum thread_use use;
    bool buffers;
    unsigned position;
    uint64_t ago;
    bool starts;
} wishes[] = {
    {"the first turn", THREAD_OWN, false, 1, 0, false},
    {"the second turn", THREAD_OWN, false, 1, 10 * MS, true},
    {"the second turn, just in time", THREAD_OWN, false, 1, 90 * MS, true},
    {"after a pause", THREAD_OWN, false, 1, 120 * MS, false},
    {"a later write, the first wish", THREAD_OWN, false, 2, 0, false},
    {"a later write of another turn", THREAD_OWN, false, 2, 10 * MS, true},
    {"a later write after a pause", THREAD_OWN, false, 2, 120 * MS, false},
    {"the third write of the first turn", THREAD_OWN, false, 3, 0, false},
    {"the fourth write of the first turn", THREAD_OWN, false, 4, 0, true},
    {"coalesce", THREAD_OWN, true, 1, 0, true},
    {"always", THREAD_ALWAYS, false, 1, 0, true},
    {"always, a later write", THREAD_ALWAYS, false, 2, 0, true},
};

/* The wish comes within the same tick of the clock as the one before. */
static bool starts_at_once(unsigned position) {
    uint64_t before;
    bool waits;
    do {
        last_unserved_hold_ns = before = clock_coarse();
        waits = waits_for_another_turn(false, position);
    } while (last_unserved_hold_ns != before);
    return !waits;
}

Test(window_steps, which_write_starts_it) {
    EACH_ROW(row, wishes) {
        struct config next = *config();
        next.thread = (uint8_t)row->use;
        ASSERT(config_publish(config(), &next));
        uint64_t before = row->ago ? clock_coarse() - row->ago : 0;
        last_unserved_hold_ns = before;
        EXPECT_INT(row->name, !waits_for_another_turn(row->buffers, row->position), row->starts);
        bool counts = row->use == THREAD_OWN && !row->buffers && row->position < LONG_TURN;
        EXPECT_INT(row->name, last_unserved_hold_ns != before, counts);
    }
    struct config next = *config();
    next.thread = THREAD_OWN;
    ASSERT(config_publish(config(), &next));
    EXPECT_INT("the second turn, at once", starts_at_once(1), true);
    EXPECT_INT("a later write of the same turn", starts_at_once(2), false);
}

/* ---- bytes that are left when it was stopped ---------------------------- */

Test(window_steps, what_has_left) {
    EXPECT(!window_has_left());
    c->lingering = true;
    EXPECT(window_has_left());
    c->lingering = false;
    buffered("abc");
    EXPECT(window_has_left());
    buffer_free(c);
    struct conn *last = fds_create(6, ORIGIN_SOCKET);
    conn_unlock(last);
    buffered("abc"); /* not the last that is looked at */
    EXPECT(window_has_left());
}

/* Where no thread can be had they are sent at once, and waited for. */
Test(window_steps, without_a_thread_they_are_sent) {
    config_load((char *[]){(char[]){"UNSTALL_THREAD=never"}, (char[]){"UNSTALL_MODE=coalesce"}, NULL},
        "prog");
    window_now = WINDOW_NONE;
    struct conn *other = fds_create(6, ORIGIN_SOCKET);
    conn_unlock(other);
    c->policy.mode = MODE_COALESCE;
    buffered("abc");
    fake.sends[0] = -EAGAIN;
    window_goes_on();
    EXPECT_INT("state", window_state(), WINDOW_NEVER);
    EXPECT_TEXT("log", fake_log(), "send(5,abc) room(5) send(5,abc)");
    EXPECT(buffer_length(c) == 0 && !c->ticking && !other->ticking);
}

Test(window_steps, with_a_thread_it_watches_them) {
    config_load((char *[]){(char[]){"UNSTALL_MODE=coalesce"}, NULL}, "prog");
    struct conn *other = fds_create(6, ORIGIN_SOCKET), *lingers = fds_create(7, ORIGIN_SOCKET);
    lingers->lingering = true;
    conn_unlock(lingers);
    conn_unlock(other);
    buffered("abc");
    window_goes_on(); /* it is said to run */
    EXPECT(c->ticking && !other->ticking && lingers->ticking);
    EXPECT_TEXT("nothing is sent", fake_log(), "");
    config_load(NULL, "prog");
    window_incoming = NULL;
    c->ticking = false;
    window_goes_on();
    cr_expect(!c->ticking, "no mode buffers: nothing is left");
}

/* A thread that ended by SYS_exit: from then on the window's thread is not there when the last one ends. */
Test(window_steps, after_a_task_has_exited) {
    window_now = WINDOW_WITHOUT;
    window_threads_seen();
    EXPECT(threads_seen);
    EXPECT_INT("decided anew", window_state(), WINDOW_NONE);
    window_now = WINDOW_REFUSED;
    window_threads_seen();
    EXPECT_INT("a refusal stays", window_state(), WINDOW_REFUSED);
    EXPECT(!tasks_exit);
    window_task_exits();
    EXPECT(tasks_exit);
    paused_until = last_unserved_hold_ns = start_inhibitors = stop_count = 3;
    stopping = window_parked = 1;
    window_incoming = c;
    thread.id = 4711;
    window_forked();
    EXPECT(!tasks_exit && !threads_seen && !paused_until && !last_unserved_hold_ns && !start_inhibitors);
    EXPECT(!stop_count);
    EXPECT(!stopping && !window_parked && !window_incoming && thread.id == 0);
    EXPECT_INT("state", window_state(), WINDOW_NONE);
}

Test(window_steps, bars_and_pauses) {
    window_now = WINDOW_NONE;
    uint32_t barred = window_bar(true);
    EXPECT_INT("one", start_inhibitors, 1);
    EXPECT_INT("of this generation", barred, BARRED | RIGHTS | fork_generation);
    window_unbar(barred ^ 1);
    EXPECT_INT("of another", start_inhibitors, 1);
    window_unbar(barred);
    EXPECT(start_inhibitors == 0 && !paused_until);
    threads_seen = true;
    uint64_t before = clock_coarse();
    window_unbar(window_bar(false));
    EXPECT(!paused_until);
    window_unbar(window_bar(true));
    EXPECT(paused_until >= before + PAUSE_NS && paused_until <= clock_coarse() + PAUSE_NS);
    EXPECT_INT("depth", self.depth, 0);
}
