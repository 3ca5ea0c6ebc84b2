/* SPDX-License-Identifier: MIT
 *
 * Whether bytes may be held at all, the largest age of a hold, and the waits of its end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>

#include "buffered.h"
#include "clock.h"
#include "turn.h"
#include "config.h"
#include "fake_kernel.h"
#include "fds.h"
#include "unit.h"

#define MS UINT64_C(1000000)

static struct kernel_ops own; /* the fake kernel, except functions that a test replaces */

static struct conn *c;

static void set_up(void) {
    c = fake_kernel_connected(MODE_AUTO);
    clock_stopped = 100000 * MS;
}

TestSuite(hold_ends, .init = set_up, .timeout = 20);

static void buffered(const char *bytes) {
    ASSERT(unit_buffer(c, bytes));
}

static void join(void) {
    ASSERT(conn_lock(c));
    hold_join_turn(c);
    conn_unlock(c);
}

/* ---- a thread's end ------------------------------------------------------ */

static void *reads_before_it_locks(void *taken) {
    hold_watch_thread_end();
    ASSERT(conn_lock(c));
    *(bool *)taken = (LOAD(&c->lock) & 3) != 0;
    conn_unlock(c);
    return NULL;
}

/* The read that watches the end of its thread makes the bits of a lock, too. */
Test(hold_ends, a_thread_whose_end_is_watched_can_lock) {
    pthread_t thread;
    bool taken = false;
    ASSERT(pthread_create(&thread, NULL, reads_before_it_locks, &taken) == 0);
    ASSERT(pthread_join(thread, NULL) == 0);
    EXPECT(taken);
}

/* libc would allocate for a later key, perhaps beneath malloc(3): it is given back, and the lock works. */
static pthread_key_t key;

static void set_up_with_many_keys(void) {
    for (int i = 0; i < 40; i++)
        ASSERT(pthread_key_create(&key, NULL) == 0);
    set_up();
}

Test(many_keys, only_a_key_that_lies_in_the_thread_is_used, .init = set_up_with_many_keys) {
    pthread_key_t next;
    ASSERT(conn_lock(c));
    EXPECT(!self.ends_watched && lock_is_mine(&c->lock));
    conn_unlock(c);
    ASSERT(pthread_key_create(&next, NULL) == 0);
    EXPECT_INT("none is kept", next, key + 1);
}

static void *locks(void *watched) {
    ASSERT(conn_lock(c));
    *(bool *)watched = self.ends_watched;
    conn_unlock(c);
    return NULL;
}

/* A thread that was cancelled while it held a lock, and that had not read before, left it locked for ever. */
Test(hold_ends, a_threads_first_lock_has_its_end_watched) {
    pthread_t thread;
    bool watched = false;
    ASSERT(pthread_create(&thread, NULL, locks, &watched) == 0);
    ASSERT(pthread_join(thread, NULL) == 0);
    EXPECT(watched);
}

/* ---- limits ------------------------------------------------------------- */

static const struct {
    const char *name;
    enum window_state window;
    bool filter, refused, may_hold, windowless;
} limits[] = {
    {"undecided", WINDOW_NONE, false, false, true, false},
    {"a thread", WINDOW_RUNS, false, false, true, false},
    {"no thread", WINDOW_WITHOUT, false, false, true, true},
    {"never a thread", WINDOW_NEVER, false, false, true, true},
    {"the thread ends", WINDOW_STOPS, false, false, false, false},
    {"no thread could be made", WINDOW_REFUSED, false, false, false, false},
    {"a filter", WINDOW_RUNS, true, false, false, false},
    {"the process ends", WINDOW_RUNS, false, true, false, false},
    {"a filter, and the process ends", WINDOW_WITHOUT, true, true, false, true},
};

Test(hold_ends, what_may_be_held) {
    EACH_ROW(row, limits) {
        config_switch(MODE_COALESCE, row->filter);
        window_now = (int)row->window;
        hold_refused = row->refused;
        struct policy_limits found = decide_limits();
        EXPECT_INT(row->name, found.may_hold, row->may_hold);
        EXPECT_INT(row->name, found.windowless, row->windowless);
        EXPECT_INT(row->name, found.small, 4096);
        EXPECT_INT(row->name, found.override, false);
        EXPECT_INT(row->name, found.room, 0);
        c->policy.mode = MODE_COALESCE;
        EXPECT_INT(row->name, decide_limits_of_write(c).room, row->may_hold ? 4096 : 0);
        c->policy.mode = MODE_CORK;
        EXPECT_INT(row->name, decide_limits_of_write(c).room, 0);
    }
}

Test(hold_ends, the_limits_of_the_configuration) {
    config_load((char *[]){(char[]){"UNSTALL_SMALL=100"}, (char[]){"UNSTALL_OVERRIDE=1"}, NULL}, "prog");
    struct policy_limits found = decide_limits();
    EXPECT(found.small == 100 && found.override);
}

/* Which states of the thread must be decided before a write that may be held. */
Test(hold_ends, what_is_decided_first) {
    for (int state = WINDOW_NONE; state <= WINDOW_REFUSED; state++)
        for (int mode = 0; mode < MODE_COUNT; mode++)
            for (int bursty = 0; bursty < 2; bursty++) {
                struct policy p = {.mode = (uint8_t)mode, .bursty = bursty};
                bool might = mode == MODE_CORK || mode == MODE_COALESCE || (mode == MODE_AUTO && bursty);
                bool wanted = (state == WINDOW_NONE && might) ||
                              (state == WINDOW_WITHOUT && mode == MODE_COALESCE);
                cr_expect(window_undecided((enum window_state)state, &p) == wanted, "%d %s %d", state,
                          mode_names[mode], bursty);
            }
}

/* ---- age ---------------------------------------------------------------- */

enum { ENDPOINT = 9 };

static const struct {
    const char *name;
    enum window_state window;
    enum mode mode;
    uint64_t age;
    bool nodelay_only;
    unsigned window_ends;
    bool begins_anew;
} ages[] = {
    {"auto: soon", WINDOW_WITHOUT, MODE_AUTO, 5 * MS, false, 0, false},
    {"auto: late", WINDOW_WITHOUT, MODE_AUTO, 50 * MS, true, 0, false},
    {"auto: late, never a thread", WINDOW_NEVER, MODE_AUTO, 50 * MS, true, 0, false},
    {"auto: late, but a thread has the window", WINDOW_RUNS, MODE_AUTO, 50 * MS, false, 0, false},
    {"cork: soon", WINDOW_WITHOUT, MODE_CORK, 200 * MS, false, 0, true},
    {"cork: ended by the kernel", WINDOW_WITHOUT, MODE_CORK, 200 * MS + 1, false, 4, true},
    {"coalesce holds nothing in the kernel", WINDOW_WITHOUT, MODE_COALESCE, 500 * MS, false, 0, false},
};

Test(hold_ends, the_age_of_a_hold_without_a_window) {
    EACH_ROW(row, ages) {
        window_now = (int)row->window;
        endpoint_late[ENDPOINT].any = 0;
        c->policy = (struct policy){.mode = (uint8_t)row->mode, .established = true, .quick_turns = HABIT};
        c->endpoint = ENDPOINT;
        uint64_t began = clock_stopped - row->age;
        c->habit_ns = began;
        EXPECT_INT(row->name, hold_check_age(c, false), !row->nodelay_only);
        EXPECT_INT(row->name, c->policy.nodelay_only, row->nodelay_only);
        EXPECT_INT(row->name, endpoint_late[ENDPOINT].nodelay_only, row->nodelay_only);
        EXPECT_INT(row->name, c->policy.window_ends, row->window_ends);
        EXPECT_INT(row->name, c->habit_ns, row->begins_anew ? clock_stopped : began);
    }
}

/* What a late hold of a habit costs, by what its thread has used since it began. */
static const struct {
    const char *name;
    bool watched, wrong, of_no_endpoint, of_another;
    uint64_t cpu_ns, waits, lost;
    int error;
    bool goes_on, is_watched;
} late[] = {
    {"the first, its message goes on", .is_watched = true},
    {"the first, its message was complete", .wrong = true},
    {"no endpoint", .of_no_endpoint = true},
    {"others had the processor", .watched = true, .lost = 1, .goes_on = true, .is_watched = true},
    {"twice", .watched = true, .lost = 2, .goes_on = true, .is_watched = true},
    {"it yields", .watched = true, .lost = 3},
    {"nobody had it", .watched = true},
    {"a push ended it", .watched = true, .lost = 1, .wrong = true},
    {"5 ms of its own", .watched = true, .lost = 1, .cpu_ns = HOLD_LATE_NS, .goes_on = true,
     .is_watched = true},
    {"it computed", .watched = true, .lost = 1, .cpu_ns = HOLD_LATE_NS + 1},
    {"it waited", .watched = true, .lost = 1, .waits = 1},
    {"not known", .watched = true, .lost = 1, .error = -EPERM},
    {"another thread's hold", .watched = true, .lost = 1, .of_another = true},
};

Test(hold_ends, why_a_hold_was_late) {
    EACH_ROW(row, late) {
        window_now = WINDOW_WITHOUT;
        c->endpoint = row->of_no_endpoint ? 0 : ENDPOINT;
        endpoint_late[ENDPOINT] = (union endpoint_late){{row->watched, false}};
        c->policy = (struct policy){.mode = MODE_AUTO, .established = true, .quick_turns = HABIT};
        fake.usage = (struct kernel_usage){7000 * MS, 70, 700};
        fake.usage_error = row->error;
        window_watch(c);
        EXPECT_TEXT(row->name, fake_log(), row->watched ? "usage(-1)" : "");
        if (row->of_another)
            self.hold.of = NULL;
        clock_stopped += 50 * MS;
        fake.usage.cpu_ns += row->cpu_ns;
        fake.usage.waits += row->waits;
        fake.usage.lost += row->lost;
        EXPECT_INT(row->name, hold_check_age(c, !row->wrong), row->goes_on);
        EXPECT_INT(row->name, c->policy.nodelay_only, !row->is_watched);
        EXPECT_INT(row->name, endpoint_late[ENDPOINT].nodelay_only, !row->is_watched && !row->of_no_endpoint);
        EXPECT_INT(row->name, endpoint_late[ENDPOINT].watched, row->watched || row->is_watched);
        EXPECT(!endpoint_late[0].any);
        EXPECT_INT(row->name, c->policy.quick_turns, row->is_watched && !row->watched ? 0 : HABIT);
        EXPECT_INT(row->name, hold_check_age(c, !row->wrong), row->is_watched);
        fake_log();
    }
}

/* The usage is asked in auto only, and not behind a seccomp filter of the program. */
Test(hold_ends, whose_usage_is_asked) {
    static const struct {
        const char *name;
        enum mode mode;
        bool filtered, asked;
    } rows[] = {{"auto", MODE_AUTO, .asked = true},
                {"cork", .mode = MODE_CORK},
                {"filtered", MODE_AUTO, .filtered = true}};
    EACH_ROW(row, rows) {
        window_now = WINDOW_WITHOUT;
        c->endpoint = ENDPOINT;
        endpoint_late[ENDPOINT].watched = true;
        c->policy.mode = (uint8_t)row->mode;
        config_switch(row->mode, row->filtered);
        window_watch(c);
        EXPECT_TEXT(row->name, fake_log(), row->asked ? "usage(-1)" : "");
    }
}

/* What was asked for an earlier hold is no proof. */
Test(hold_ends, a_hold_that_was_not_watched) {
    window_now = WINDOW_WITHOUT;
    c->policy.mode = MODE_AUTO;
    c->policy.quick_turns = HABIT;
    c->endpoint = ENDPOINT;
    endpoint_late[ENDPOINT].watched = true;
    window_watch(c);
    fake.usage.lost++;
    clock_stopped += MS;
    c->habit_ns = clock_stopped;
    clock_stopped += 50 * MS;
    EXPECT(!hold_check_age(c, true) && endpoint_late[ENDPOINT].nodelay_only);
}

Test(hold_ends, four_that_the_kernel_ended_in_a_row) {
    window_now = WINDOW_WITHOUT;
    c->policy.mode = MODE_CORK;
    for (int i = 1; i <= 4; i++) {
        c->habit_ns = clock_stopped - 300 * MS;
        c->held = true;
        join();
        EXPECT_INT("number", c->policy.nodelay_only, i == 4);
        c->held = false;
    }
}

/* A push and a write that joins a hold look at its age; without a hold there is no age. */
Test(hold_ends, when_the_age_is_looked_at) {
    window_now = WINDOW_WITHOUT;
    c->policy.mode = MODE_AUTO;
    c->policy.quick_turns = HABIT;
    c->habit_ns = clock_stopped - 50 * MS;
    join();
    ASSERT(conn_lock(c));
    hold_push(c, PUSH_WAIT);
    EXPECT(!c->policy.nodelay_only);
    c->held = true;
    hold_push(c, PUSH_WAIT);
    EXPECT(c->policy.nodelay_only);
    c->policy.nodelay_only = false;
    c->held = true;
    conn_unlock(c);
    join();
    EXPECT(c->policy.nodelay_only);
}

/* The other connections of an endpoint use the proof of one at their next turn. */
Test(hold_ends, a_sibling_of_a_late_one) {
    c->endpoint = ENDPOINT;
    join();
    EXPECT(!c->policy.nodelay_only);
    hold_end_turn(PUSH_WAIT);
    endpoint_late[ENDPOINT].nodelay_only = true;
    join();
    EXPECT(c->policy.nodelay_only);
    struct conn *next = fds_create(6, ORIGIN_SOCKET);
    endpoint_join(next, ENDPOINT);
    EXPECT(next->policy.nodelay_only && next->endpoint == ENDPOINT);
    endpoint_join(next, 8);
    cr_expect(next->policy.nodelay_only, "what it knew it still knows");
    conn_unlock(next);
    next = fds_create(7, ORIGIN_SOCKET);
    endpoint_join(next, 8);
    EXPECT(!next->policy.nodelay_only && !next->policy.bursty);
    conn_unlock(next);
}

/* ---- endpoints ---------------------------------------------------------- */

Test(hold_ends, entries_of_many_endpoints) {
    static bool used[256];
    int distinct = 0;
    for (int port = 1; port <= 2000; port++) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        uint8_t entry = endpoint_of_destination((struct sockaddr *)&to, sizeof(to));
        cr_assert(entry != 0, "port %d has none", port);
        distinct += !used[entry];
        used[entry] = true;
    }
    cr_expect(distinct > 240, "%d", distinct);
}

static uint8_t entry_of_port(unsigned port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    memset(to.sin_zero, (int)port, sizeof(to.sin_zero)); /* no part of the address */
    return endpoint_of_destination((struct sockaddr *)&to, sizeof(to));
}

static void update_endpoint(uint8_t entry) {
    struct conn before = {.endpoint = entry,
                          .policy = {.bursty = true, .input_ever = true, .quick_turns = 7}};
    before.policy.model.ended[0] = 17;
    before.policy.model.ended[15] = 18;
    endpoint_update(&before);
}

static struct policy learned(uint8_t entry) {
    struct conn next = {0};
    endpoint_join(&next, entry);
    return next.policy;
}

/* Two endpoints that share an entry take turns with it; one keeps it. */
Test(hold_ends, an_entry_is_of_one_endpoint) {
    uint8_t entry = entry_of_port(1);
    unsigned other = 2;
    update_endpoint(entry);
    struct policy p = learned(entry);
    EXPECT(p.bursty && p.from_cache && p.model.ended[0] == 17 && p.model.ended[15] == 18);
    EXPECT_INT("its habit", p.quick_turns, 7);
    EXPECT_INT("asked again", entry_of_port(1), entry);
    EXPECT(learned(entry).bursty);
    fork_generation++;
    EXPECT(learned(entry).bursty && learned(entry).quick_turns == 0); /* a child proves its own habit */
    fork_generation--;
    while (entry_of_port(other) != entry)
        other++;
    EXPECT(!learned(entry).bursty);
}

static const struct {
    const char *name;
    struct policy policy;
    uint32_t turns;
    bool learns;
} lessons[] = {
    {"bursty, and answered", {.bursty = true, .input_ever = true}, 4, true},
    {"its first turn", {.bursty = true, .input_ever = true}, 0, true},
    {"not due", {.bursty = true, .input_ever = true}, 3, false},
    {"not bursty", {.input_ever = true}, 4, false},
    {"not answered", {.bursty = true}, 4, false},
    {"one that defies prediction unlearns", {.nodelay_only = true, .bursty = true, .input_ever = true}, 4,
     false},
};

Test(hold_ends, what_teaches_an_entry) {
    EACH_ROW(row, lessons) {
        uint8_t entry = (uint8_t)(20 + (row - lessons));
        struct conn one = {.endpoint = entry, .policy = row->policy, .counts = {.turns = row->turns}};
        if (row->policy.nodelay_only)
            update_endpoint(entry);
        endpoint_update(&one);
        EXPECT_INT(row->name, learned(entry).bursty, row->learns);
    }
    struct conn none = {.policy = {.bursty = true, .input_ever = true}};
    endpoint_update(&none);
    EXPECT(!learned(0).bursty);
}

/* An address must be long enough for its family. */
static const struct {
    const char *name;
    sa_family_t family;
    socklen_t length;
    bool known;
} addresses[] = {
    {"IPv4", AF_INET, sizeof(struct sockaddr_in), true},
    {"IPv4, longer", AF_INET, sizeof(struct sockaddr_in6), true},
    {"IPv4, cut", AF_INET, sizeof(struct sockaddr_in) - 1, false},
    {"IPv6", AF_INET6, sizeof(struct sockaddr_in6), true},
    {"IPv6, cut", AF_INET6, sizeof(struct sockaddr_in6) - 1, false},
    {"IPv6 as short as IPv4", AF_INET6, sizeof(struct sockaddr_in), false},
    {"another family", AF_UNIX, sizeof(struct sockaddr_in6), false},
    {"no address", AF_INET, 0, false},
    {"AF_UNSPEC", AF_UNSPEC, sizeof(struct sockaddr_in), false},
};

Test(hold_ends, addresses_of_endpoints) {
    EACH_ROW(row, addresses) {
        struct sockaddr_in6 to = {.sin6_family = row->family, .sin6_port = htons(80)};
        EXPECT_INT(row->name, endpoint_of_destination((struct sockaddr *)&to, row->length) != 0, row->known);
    }
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(80)}, b = a;
    b.sin6_addr.s6_addr[15] = 1;
    EXPECT(endpoint_of_destination((struct sockaddr *)&a, sizeof(a)) !=
           endpoint_of_destination((struct sockaddr *)&b, sizeof(b)));
}

Test(hold_ends, listeners_are_told_apart_by_place_and_number) {
    struct conn *other = fds_create(6, ORIGIN_SOCKET);
    conn_unlock(other);
    uint8_t first = endpoint_of_listener(c);
    EXPECT(first != 0 && first == endpoint_of_listener(c));
    /* two of 255 entries may be the same by chance: not for each of eight numbers */
    unsigned by_place = 0, by_number = 0;
    for (int fd = 70; fd < 78; fd++) {
        c->fd = other->fd = fd;
        by_place += endpoint_of_listener(c) != endpoint_of_listener(other);
        by_number += endpoint_of_listener(c) != first;
    }
    EXPECT(by_place > 4 && by_number > 4);
}

/* ---- room --------------------------------------------------------------- */

static unsigned waits;

static int counted_room(int fd, int timeout_ms) {
    EXPECT_INT("the connection is free meanwhile", c->lock & 3, 0);
    EXPECT_INT("depth", self.depth, 0);
    EXPECT_INT("fd", fd, 5);
    EXPECT_INT("a tenth of a second", timeout_ms, 100);
    waits++;
    return 0;
}

/* Before an event that would lose bytes: as the application's write would have waited, a second at most. */
Test(hold_ends, room_is_waited_for) {
    own = *kernel;
    own.writable = counted_room;
    kernel = &own;
    for (unsigned refusals = 0; refusals < 14; refusals++) {
        fake.send_count = waits = 0;
        for (unsigned i = 0; i < FAKE_SENDS; i++)
            fake.sends[i] = i < refusals ? -EAGAIN : 0;
        c->policy.mode = MODE_COALESCE;
        buffered("abc");
        ASSERT(conn_lock(c));
        ASSERT(hold_push_all(c, PUSH_CLOSE));
        conn_unlock(c);
        EXPECT_INT("waits", waits, refusals < 10 ? refusals : 10);
        EXPECT_INT("left", buffer_length(c), refusals > 10 ? 3 : 0);
        buffer_free(c);
    }
    config_switch(MODE_COALESCE, true);
    fake.send_count = waits = 0;
    fake.sends[0] = -EAGAIN;
    buffered("abc");
    ASSERT(conn_lock(c));
    ASSERT(hold_push_all(c, PUSH_CLOSE));
    conn_unlock(c);
    EXPECT_INT("not under a filter", waits, 0);
    EXPECT_INT("left", buffer_length(c), 3);
}

/* At the end of a process all threads' bytes leave; a wait leaves them to the window's thread. */
Test(hold_ends, the_end_of_a_turn_waits_where_nobody_will_send) {
    static const enum push_cause causes[] = {PUSH_WAIT, PUSH_READ, PUSH_PROCESS};
    own = *kernel;
    own.writable = counted_room;
    kernel = &own;
    for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
        c->policy.mode = MODE_COALESCE;
        fake.send_count = waits = 0;
        fake.sends[0] = fake.sends[1] = -EAGAIN;
        join();
        buffered("abc");
        hold_end_turn(causes[i]);
        EXPECT_INT("waits", waits, causes[i] == PUSH_PROCESS ? 2 : 0);
        EXPECT_INT("left", buffer_length(c), causes[i] == PUSH_PROCESS ? 0 : 3);
        buffer_free(c);
    }
}

/* ---- waits that may go on ----------------------------------------------- */

static const struct {
    const char *name;
    struct policy policy;
    bool held, buffered, could;
} goings[] = {
    {"nothing", {.mode = MODE_AUTO}, false, false, false},
    {"held", {.mode = MODE_CORK}, true, false, true},
    {"buffered", {.mode = MODE_COALESCE}, false, true, true},
    {"cured", {.mode = MODE_AUTO, .nodelay = true}, false, false, true},
    {"cured, in a mode that does not predict", {.mode = MODE_NODELAY, .nodelay = true}, false, false, false},
    {"the application's own", {.mode = MODE_AUTO, .nodelay = true, .app_nodelay = true}, false, false, false},
    {"the application's cork", {.mode = MODE_AUTO, .nodelay = true, .app_cork = true}, false, false, false},
};

Test(hold_ends, what_could_go_on) {
    EACH_ROW(row, goings) {
        c->policy = row->policy;
        join();
        c->held = row->held;
        if (row->buffered)
            buffered("abc");
        EXPECT_INT(row->name, hold_could_go_on(), row->could);
        EXPECT_INT(row->name, hold_looks(), true);
        EXPECT_INT(row->name, self.depth, 0);
        c->held = false;
        buffer_free(c);
        hold_end_turn(PUSH_WAIT);
    }
    EXPECT(!hold_could_go_on() && !hold_looks());
    static const enum mode passive[] = {MODE_OFF, MODE_OBSERVE};
    for (size_t i = 0; i < ARRAY_SIZE(passive); i++) {
        c->policy = (struct policy){.mode = (uint8_t)passive[i]};
        join();
        EXPECT(!hold_looks());
        hold_end_turn(PUSH_WAIT);
    }
}

/* A turn that continues a message after a wait that returned at once. */
static const struct {
    const char *name;
    uint64_t waited;
    unsigned turns, goes_on;
} continuations[] = {
    {"at once", 1000, 1, 1},          {"just at once", 299999, 1, 1}, {"not at once", 300000, 1, 0},
    {"it was the second turn", 0, 2, 0},
};

Test(hold_ends, a_message_that_goes_on) {
    EACH_ROW(row, continuations) {
        c->policy = (struct policy){.mode = MODE_AUTO, .turns = (uint16_t)row->turns, .nodelay = true};
        c->turn_owner = NULL;
        c->wait_began = clock_stopped - row->waited;
        join();
        EXPECT_INT(row->name, c->policy.goes_on, row->goes_on);
        EXPECT_INT(row->name, c->wait_began, 0);
        self.turn = NULL;
    }
    c->turn_owner = NULL;
    c->wait_began = 0;
    c->policy = (struct policy){.mode = MODE_AUTO, .turns = 1};
    join();
    EXPECT_INT("no wait", c->policy.goes_on, 0);
}

/* The model learns nothing from a turn that another thread has continued. */
Test(hold_ends, a_turn_that_another_thread_has) {
    struct thread other;
    c->policy = (struct policy){.mode = MODE_AUTO, .bursty = true, .established = true, .quick_turns = 9};
    join();
    join();
    c->turn_owner = &other;
    hold_end_turn(PUSH_WAIT);
    EXPECT(self.turn == NULL && c->turn_owner == &other);
    EXPECT_INT("position", c->policy.position, 2);
    join();
    EXPECT_INT("taken over: no habit", c->policy.quick_turns, 0);
    EXPECT_INT("its position", c->policy.position, 1);
    EXPECT(c->turn_owner == &self);
}

Test(hold_ends, a_turn_that_another_thread_has_left) {
    struct thread other;
    c->policy = (struct policy){.mode = MODE_AUTO, .bursty = true, .established = true, .position = 2};
    c->turn_owner = &other;
    c->turn_end = TURN_LEFT;
    join();
    EXPECT_INT("two writes were a turn", c->policy.model.ended[1], 255);
    EXPECT_INT("position", c->policy.position, 1);
}

Test(hold_ends, a_turn_that_goes_on_after_a_push) {
    join();
    hold_end_turn(PUSH_WAIT);
    ASSERT(conn_lock(c));
    hold_resume_turn(c);
    conn_unlock(c);
    EXPECT(self.turn == c && c->turn_owner == &self && c->turn_end == TURN_ENDS);
    hold_end_turn(PUSH_WAIT);
}

Test(hold_ends, the_position_stays_where_it_cannot_grow) {
    join();
    c->policy.position = UINT16_MAX;
    join();
    EXPECT_INT("position", c->policy.position, UINT16_MAX);
}

/* ---- the probe for writes that pass us by ------------------------------- */

/* In auto a hold begins by a proved habit: its first push is not followed by a question. */
Test(hold_ends, the_first_push_of_auto_asks_nothing) {
    static const enum mode modes[] = {MODE_AUTO, MODE_CORK};
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        c->policy = (struct policy){.mode = (uint8_t)modes[i], .established = true};
        c->counts = (struct conn_counts){.bytes = 100};
        fake.tcp_info.bytes_sent = 100;
        for (int push = 1; push <= 4; push++) {
            c->held = true;
            ASSERT(conn_lock(c));
            hold_push(c, push & 1 ? PUSH_WAIT : PUSH_READ);
            conn_unlock(c);
            bool asks = push == 2 || push == 4 || (push == 1 && modes[i] != MODE_AUTO);
            EXPECT_TEXT(mode_names[modes[i]], fake_log(), asks ? "nodelay(5,1) info(5)" : "nodelay(5,1)");
        }
    }
}

/* ---- options that are asked late ---------------------------------------- */

static const struct {
    const char *name;
    bool app_cork, found, pending, app_more;
    unsigned units, left;
} corks[] = {
    {"its cork is off: what it held has left", true, false, true, false, 1, 0},
    {"its cork is on", true, true, true, false, 0, 10},
    {"it has none", false, false, true, false, 0, 10},
    {"nothing waits", true, false, false, false, 0, 0},
    {"its MSG_MORE holds", true, false, true, true, 0, 10},
};

Test(hold_ends, a_cork_that_is_found_open) {
    EACH_ROW(row, corks) {
        c->policy = (struct policy){.mode = MODE_AUTO, .unsure = true, .app_cork = row->app_cork,
                                    .app_more = row->app_more, .pending = row->pending ? 10 : 0, .mss = 1000};
        fake.cork = row->found;
        ASSERT(conn_lock(c));
        hold_ask_facts(c);
        conn_unlock(c);
        EXPECT_INT(row->name, c->policy.units, row->units);
        EXPECT_INT(row->name, c->policy.smalls, row->units);
        EXPECT_INT(row->name, c->policy.pending, row->left);
        EXPECT_INT(row->name, c->policy.app_cork, row->found);
        EXPECT_INT(row->name, c->policy.had_option, row->found);
        EXPECT(!c->policy.unsure);
    }
}

/* Untracked writes: the application's own cork is found before anything is set. */
Test(hold_ends, untracked_writes_of_a_stranger) {
    for (int found = 0; found < 3; found++) {
        c->policy = (struct policy){.mode = MODE_AUTO, .unsure = true, .established = true};
        fake.cork = found == 1;
        fake.nodelay = found == 2;
        ASSERT(conn_lock(c));
        hold_untrack(c);
        conn_unlock(c);
        EXPECT_INT("set", strstr(fake_log(), "nodelay(5,1)") != NULL, found == 0);
        EXPECT(c->policy.untracked_io && !c->policy.unsure);
    }
}

/* The number is no TCP socket any more: the push finds that, and then there is nothing to learn. */
Test(hold_ends, the_window_of_a_number_that_is_another) {
    c->policy = (struct policy){.mode = MODE_AUTO, .established = true, .window_ends = 15, .position = 1,
                                .untracked_io = true};
    c->held = true;
    fake.set_error = -ENOPROTOOPT;
    ASSERT(conn_lock(c));
    hold_window_ends(c);
    conn_unlock(c);
    EXPECT(c->policy.mode == MODE_OFF && !c->policy.nodelay_only && c->policy.never_hold);
    EXPECT_TEXT("a datagram ends", fake_log(), "nodelay(5,1) send(5,)");
}

/* ---- facts that policy asks of the kernel ------------------------------------ */

static const struct {
    const char *name;
    struct policy_action action;
    uint64_t received;
    int error;
    const char *log;
    bool one_way, input_ever;
    unsigned late_pushes;
} acts[] = {
    {"nothing", {0}, 0, 0, "", true, false, 0},
    {"a late push", {.late_push = true}, 0, 0, "nodelay(5,1)", true, false, 1},
    {"a stream", {.back_to_app = true}, 0, 0, "info(5) nodelay(5,0)", true, false, 0},
    {"a stream of which nothing is known", {.back_to_app = true}, 9, -EINVAL, "info(5) nodelay(5,0)", true,
     false, 0},
    {"input that we did not see", {.back_to_app = true}, 1, 0, "info(5)", false, true, 0},
};

Test(hold_ends, what_is_applied) {
    EACH_ROW(row, acts) {
        c->policy = (struct policy){.mode = MODE_AUTO, .one_way = true,
                                    .nodelay = row->action.back_to_app};
        c->counts.late_pushes = 0;
        fake.tcp_info.bytes_received = row->received;
        fake.tcp_info_error = row->error;
        ASSERT(conn_lock(c));
        decide_apply(c, &row->action, 5);
        conn_unlock(c);
        EXPECT_TEXT(row->name, fake_log(), row->log);
        EXPECT_INT(row->name, c->policy.one_way, row->one_way);
        EXPECT_INT(row->name, c->policy.input_ever, row->input_ever);
        EXPECT_INT(row->name, c->counts.late_pushes, row->late_pushes);
    }
}

/* Restoring an option is counted: a thread that sets it at this time looks again. */
Test(hold_ends, a_restore_is_counted) {
    uint32_t before = hold_restores;
    ASSERT(conn_lock(c));
    hold_restore(c);
    EXPECT_INT("nothing to do", hold_restores, before);
    c->policy.nodelay = true;
    hold_restore(c);
    conn_unlock(c);
    EXPECT_INT("done", hold_restores, before + 1);
    EXPECT(!c->policy.nodelay);
    EXPECT(!hold_acted);
    hold_set_nodelay(c, 5);
    EXPECT(hold_acted);
}

/* ---- a close with bytes that have no room ----------------------------------- */

/* A number of ours above the lowest, so that the program's next descriptors have the numbers that they would
 * have; a low one where there is no other. */
static int lowest_asked, free_numbers;

static int dup_of_ours(int fd, int lowest) {
    EXPECT_INT("of it", fd, 5);
    lowest_asked = lowest;
    return lowest > free_numbers ? -EMFILE : lowest + 3;
}

static const struct {
    const char *name;
    int free_numbers, asked, own;
} numbers[] = {{"many are free", 1000, 256, 259}, {"only low ones", 100, 0, 3}, {"none", -1, 0, -1}};

Test(hold_ends, the_number_of_a_lingering_connection) {
    EACH_ROW(row, numbers) {
        const struct kernel_ops *before = kernel;
        own = *kernel;
        own.dup_above = dup_of_ours;
        kernel = &own;
        free_numbers = row->free_numbers;
        window_now = WINDOW_RUNS;
        c = fds_create(5, ORIGIN_SOCKET);
        c->policy.mode = MODE_COALESCE;
        buffered("abc");
        bool lingers = close_lingers(c, 5);
        kernel = before;
        EXPECT_INT(row->name, lingers, row->own >= 0);
        EXPECT_INT(row->name, lowest_asked, row->asked);
        EXPECT_INT(row->name, c->lingering, lingers);
        EXPECT_INT(row->name, buffer_length(c), lingers ? 3 : 0);
        EXPECT_INT(row->name, fds_word(5) == FDS_UNKNOWN, lingers);
        EXPECT_INT(row->name, c->fd, lingers ? row->own : 5);
        EXPECT(!lingers || (c->ticking && fds_conn(fds_word(row->own)) == c));
        buffer_free(c);
        c->lingering = c->ticking = false;
        fds_unlink(c, c->fd);
        fds_release(c);
    }
}
