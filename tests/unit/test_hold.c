/* SPDX-License-Identifier: MIT
 *
 * Of the open turn and its push what no program from outside can bring about: refusals of the kernel, a lock
 * that another thread has, the times of a hold without a window.  Then the cache of endpoints, which is pure.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>

#include "buffered.h"
#include "clock.h"
#include "config.h"
#include "fake_kernel.h"
#include "fds.h"
#include "turn.h"
#include "unit.h"

#define MS UINT64_C(1000000)

static struct kernel_ops own; /* the fake kernel, except functions that a test replaces */
static struct conn *c;

static void set_up(void) {
    c = fake_kernel_connected(MODE_AUTO);
    clock_stopped = 100000 * MS;
}

TestSuite(hold, .init = set_up, .timeout = 20);

static void buffered(const char *bytes) {
    c->policy.mode = MODE_COALESCE;
    ASSERT(unit_buffer(c, bytes));
}

static void join(void) {
    ASSERT(conn_lock(c));
    hold_join_turn(c);
    conn_unlock(c);
}

static void push(enum push_cause cause) {
    ASSERT(conn_lock(c));
    hold_push(c, cause);
    conn_unlock(c);
}

/* ---- refusals ----------------------------------------------------------- */

static const struct {
    const char *name;
    int error;
    bool nodelay, another_kind, never_hold;
} refusals[] = {
    {"it works", 0, true, false, false},
    {"the number was closed behind our back", -EBADF, false, false, false},
    {"... and is no socket now", -ENOTSOCK, false, false, true},
    {"... and is UDP now", -ENOPROTOOPT, false, true, true},
    {"... and is a Unix socket now", -EOPNOTSUPP, false, true, true},
    {"a BPF program of the cgroup forbids it", -EPERM, false, false, true},
    {"an LSM forbids it", -EACCES, false, false, true},
};

/* TCP_NODELAY is believed only where it worked; a datagram that our MSG_MORE left open ends with an empty
 * send. */
Test(hold, a_push_that_is_refused) {
    EACH_ROW(row, refusals) {
        c->policy = (struct policy){.mode = MODE_CORK, .established = true, .untracked_io = true};
        c->held = true;
        fake.set_error = row->error;
        errno = 4711;
        push(PUSH_WAIT);
        EXPECT_INT(row->name, c->policy.nodelay, row->nodelay);
        EXPECT_INT(row->name, c->policy.never_hold, row->never_hold);
        EXPECT_INT(row->name, c->policy.mode, row->another_kind ? MODE_OFF : MODE_CORK);
        EXPECT_TEXT(row->name, fake_log(), row->another_kind ? "nodelay(5,1) send(5,)" : "nodelay(5,1)");
        EXPECT_INT(row->name, errno, 4711);
        EXPECT(!c->held);
    }
}

/* Some writes pass by the library: the kernel has sent more than it saw.  Asked after the pushes 1, 2, 4, 8
 * ..., in auto not after the first: its hold began by a proved habit. */
Test(hold, a_push_asks_seldom_for_writes_that_pass_by) {
    static const enum mode modes[] = {MODE_AUTO, MODE_CORK};
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
        for (unsigned seen = 99; seen <= 100; seen++) {
            c->policy = (struct policy){.mode = (uint8_t)modes[i], .established = true};
            c->counts = (struct conn_counts){.bytes = seen};
            fake.tcp_info = (struct kernel_tcp_info){.bytes_sent = 60, .bytes_queued = 40};
            int asked = 0;
            for (int n = 1; n <= 1000; n++) {
                c->held = true;
                push(PUSH_WAIT);
                asked += strstr(fake_log(), "info(5)") != NULL;
            }
            EXPECT_INT("passes by", c->policy.untracked_io, seen == 99);
            EXPECT_INT("asked", asked, seen == 99 ? 1 : modes[i] == MODE_AUTO ? 9 : 10);
        }
}

static const struct {
    const char *name;
    struct policy found;
    bool ulp, never_hold;
} strangers[] = {
    {.name = "none"},
    {.name = "TCP_NODELAY", .found = {.app_nodelay = true}},
    {.name = "TCP_CORK", .found = {.app_cork = true}},
    {.name = "kernel TLS", .ulp = true, .never_hold = true},
};

/* The options of a connection whose creation was not seen: asked once, before anything is set.  Those that
 * tell writes apart are shown by a program (torture/directed/apart.c). */
Test(hold, asks_a_stranger_once) {
    EACH_ROW(row, strangers) {
        c->policy = (struct policy){.mode = MODE_AUTO, .established = true, .unsure = true, .mss = 1460};
        fake.nodelay = row->found.app_nodelay;
        fake.cork = row->found.app_cork;
        memcpy(fake.ulp, row->ulp ? "tls" : "\0\0\0", 4);
        hold_ask_facts(c);
        EXPECT_INT(row->name, c->policy.app_nodelay, row->found.app_nodelay);
        EXPECT_INT(row->name, c->policy.nodelay, row->found.app_nodelay);
        EXPECT_INT(row->name, c->policy.app_cork, row->found.app_cork);
        EXPECT_INT(row->name, c->policy.never_hold, row->never_hold);
        EXPECT(strlen(fake_log()) > 0 && !c->policy.unsure);
        hold_ask_facts(c);
        EXPECT_TEXT("once", fake_log(), "");
    }
    c->policy = (struct policy){.mode = MODE_AUTO, .unsure = true, .never_hold = true};
    fake.nodelay = 1;
    memset(fake.ulp, 0, 4);
    hold_set_nodelay(c, 5);
    EXPECT(c->policy.app_nodelay && c->policy.never_hold);
}

/* An accepted connection has its listener's cork, until it is found off: then what it held has left. */
static const struct {
    const char *name;
    bool app_cork, found, app_more;
    uint32_t pending, left;
    unsigned units;
} corks[] = {
    {"its cork is off: what it held has left", true, false, false, 10, 0, 1},
    {"its cork is on", true, true, false, 10, 10, 0},
    {"it has none", false, false, false, 10, 10, 0},
    {"nothing waits", true, false, false, 0, 0, 0},
    {"its MSG_MORE holds", true, false, true, 10, 10, 0},
};

Test(hold, a_cork_that_is_found_off) {
    EACH_ROW(row, corks) {
        c->policy = (struct policy){.mode = MODE_AUTO, .unsure = true, .app_cork = row->app_cork,
                                    .app_more = row->app_more, .pending = row->pending, .mss = 1000};
        fake.cork = row->found;
        hold_ask_facts(c);
        EXPECT_INT(row->name, c->policy.units + c->policy.smalls, 2 * row->units);
        EXPECT_INT(row->name, c->policy.pending, row->left);
        EXPECT_INT(row->name, c->policy.app_cork, row->found);
    }
}

/* Writes that pass by the library: TCP_NODELAY is the remedy, where it is ours to set. */
static const struct {
    const char *name;
    struct policy is;
    bool listens, found_cork, set;
} untracked[] = {
    {"cured", {.mode = MODE_NODELAY}, .set = true},
    {"off has no remedy", {.mode = MODE_OFF}, .set = false},
    {"observe has none", {.mode = MODE_OBSERVE}, .set = false},
    {"the application's is enough", {.mode = MODE_AUTO, .nodelay = true, .app_nodelay = true}, .set = false},
    {"the application's cork is left alone", {.mode = MODE_AUTO, .app_cork = true}, .set = false},
    {"... also where it must be asked", {.mode = MODE_AUTO, .unsure = true}, .found_cork = true},
    {"a listener: accepted sockets would have it", {.mode = MODE_AUTO}, .listens = true},
};

Test(hold, writes_that_pass_by) {
    EACH_ROW(row, untracked) {
        c->policy = row->is;
        c->listener = row->listens;
        fake.cork = row->found_cork;
        ASSERT(conn_lock(c));
        hold_untrack(c);
        conn_unlock(c);
        EXPECT_INT(row->name, strstr(fake_log(), "nodelay(5,1)") != NULL, row->set);
        EXPECT(c->policy.untracked_io && !c->held);
    }
    c->policy = (struct policy){.mode = MODE_AUTO};
    c->origin = ORIGIN_FOREIGN;
    c->listener = false;
    ASSERT(conn_lock(c));
    hold_untrack(c);
    conn_unlock(c);
    EXPECT_TEXT("one that was not seen being made may be a listener", fake_log(), "get(5) nodelay(5,1)");
}

static const struct {
    const char *name;
    int answer;
    uint32_t wanted;
} sizes[] = {{"answered", 1448, 1448}, {"refused", 0, 536}, {"nonsense", -5, 536}};

Test(hold, the_mss_that_is_not_told) {
    EACH_ROW(row, sizes) {
        fake.mss = row->answer;
        c->policy.mss = 0;
        hold_ask_facts(c);
        EXPECT_INT(row->name, c->policy.mss, row->wanted);
    }
}

/* ---- turns -------------------------------------------------------------- */

static const struct {
    const char *name;
    bool held, buffers, locked, due, elsewhere, ends;
} leavings[] = {
    {"nothing is held", .ends = true},
    {"the kernel holds", .held = true},
    {"bytes are buffered", .buffers = true},
    {"somebody has the lock: his push may be under way", .locked = true},
    {"its endpoint is to be updated at once", .due = true},
    {"it is the turn of another connection", .elsewhere = true},
};

/* Without the lock; what the turn teaches waits until the next one begins. */
Test(hold, a_turn_is_left_where_nothing_is_to_be_done) {
    EACH_ROW(row, leavings) {
        c->policy = (struct policy){.mode = MODE_COALESCE, .established = true, .bursty = true};
        c->endpoint = row->due;
        c->counts.turns = row->due ? 3 : 4;
        join();
        join();
        c->held = row->held;
        if (row->buffers)
            buffered("x");
        c->lock |= row->locked;
        if (row->elsewhere)
            self.turn = NULL;
        EXPECT_INT(row->name, hold_end_turn_unlocked(c), row->ends);
        EXPECT_INT(row->name, self.turn == NULL, row->ends || row->elsewhere);
        EXPECT_INT(row->name, self.depth, 0);
        c->lock = lock_free_now;
        c->held = false;
        buffer_free(c);
        join();
        EXPECT_INT(row->name, policy_predict_turn(&c->policy.model, 2), row->ends ? TURN_LAST : TURN_UNKNOWN);
        self.turn = NULL;
        c->turn_owner = NULL;
        c->turn_end = TURN_ENDS;
    }
}

static void *write_and_go_on(void *unused) {
    (void)unused;
    join();
    self.turn = NULL; /* the end of this thread does not end the turn */
    return NULL;
}

/* Another thread goes on with the message: its turn is its own, and ending mine does not end it, nor teach
 * anything. */
Test(hold, the_end_of_mine_is_not_the_end_of_its_turn) {
    pthread_t thread;
    c->policy = (struct policy){.mode = MODE_AUTO, .established = true, .bursty = true, .quick_turns = 9};
    join();
    join();
    ASSERT(pthread_create(&thread, NULL, write_and_go_on, NULL) == 0);
    ASSERT(pthread_join(thread, NULL) == 0);
    EXPECT_INT("taken over: no habit", c->policy.quick_turns, 0);
    const struct thread *owner = c->turn_owner;
    ASSERT(owner && owner != &self && self.turn == c);
    hold_end_turn(PUSH_WAIT);
    EXPECT(self.turn == NULL && c->turn_owner == owner);
    EXPECT_INT("its write still counts", c->policy.position, 1);
    EXPECT_INT("nothing is learned", policy_predict_turn(&c->policy.model, 2), TURN_UNKNOWN);
}

/* A kill(2) may end this process: what is buffered leaves before, what the kernel has may stay. */
Test(hold, what_leaves_before_a_signal) {
    join();
    c->held = true;
    hold_before_signal();
    EXPECT_TEXT("held", fake_log(), "");
    c->held = false;
    buffered("abc");
    hold_before_signal();
    EXPECT_TEXT("buffered", fake_log(), "send(5,abc)");
    cr_expect(self.turn == c, "the turn goes on");
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

/* Cancelled after it had noted the release, before the write that would have pushed. */
static void *cancelled(void *unused) {
    (void)unused;
    thread_may_lock();
    self.releasing = c;
    return NULL;
}

Test(hold, a_thread_that_is_cancelled_while_it_releases) {
    pthread_t thread;
    ASSERT(pthread_create(&thread, NULL, cancelled, NULL) == 0);
    ASSERT(pthread_join(thread, NULL) == 0);
    EXPECT_TEXT("pushed", fake_log(), "nodelay(5,1)");
}

/* ---- room --------------------------------------------------------------- */

static unsigned waits;

static int counted_room(int fd, int timeout_ms) {
    EXPECT_INT("the connection is free meanwhile", c->lock & 3, 0);
    EXPECT_INT("fd", fd, 5);
    EXPECT_INT("a tenth of a second", timeout_ms, 100);
    waits++;
    return 0;
}

/* Before an event that would lose bytes: as the application's write would have waited, a second at most. */
Test(hold, room_is_waited_for) {
    own = *kernel;
    own.writable = counted_room;
    kernel = &own;
    for (unsigned refused = 0; refused < 14; refused++) {
        bool filtered = refused == 13;
        config_switch(MODE_COALESCE, filtered);
        fake.send_count = waits = 0;
        for (unsigned i = 0; i < FAKE_SENDS; i++)
            fake.sends[i] = i < refused ? -EAGAIN : 0;
        buffered("abc");
        ASSERT(conn_lock(c));
        ASSERT(hold_push_all(c, PUSH_CLOSE));
        conn_unlock(c);
        EXPECT_INT("waits", waits, filtered ? 0 : refused < 10 ? refused : 10);
        EXPECT_INT("left", buffer_length(c), refused > 10 ? 3 : 0);
        buffer_free(c);
        c->flush_blocked = false;
    }
}

/* A number of ours above the lowest, so that the program's next descriptors have the numbers that they would
 * have; a low one where there is no other. */
static int lowest_asked, free_numbers;

static int dup_of_ours(int fd, int lowest) {
    (void)fd;
    lowest_asked = lowest;
    return lowest > free_numbers ? -EMFILE : lowest + 3;
}

static const struct {
    const char *name;
    int free_numbers, asked, own;
} numbers[] = {{"many are free", 1000, 256, 259}, {"only low ones", 100, 0, 3}, {"none", -1, 0, -1}};

Test(hold, the_number_of_a_lingering_connection) {
    own = *kernel;
    own.dup_above = dup_of_ours;
    kernel = &own;
    EACH_ROW(row, numbers) {
        free_numbers = row->free_numbers;
        window_now = WINDOW_RUNS;
        c = fds_create(5, ORIGIN_SOCKET);
        buffered("abc");
        fake.send_count = 0;
        fake.sends[0] = -EAGAIN; /* a wider send buffer does not help */
        bool lingers = close_lingers(c, 5) == CLOSE_LINGERS;
        EXPECT_INT(row->name, lingers, row->own >= 0);
        EXPECT_INT(row->name, lowest_asked, row->asked);
        EXPECT_INT(row->name, fds_word(5) == FDS_UNKNOWN, lingers);
        EXPECT_INT(row->name, c->fd, lingers ? row->own : 5);
        EXPECT_INT(row->name, buffer_length(c), lingers ? 3 : 0);
        EXPECT(!lingers || (c->ticking && c->lingering && fds_conn(fds_word(row->own)) == c));
        buffer_free(c);
        c->lingering = c->ticking = false;
        fds_unlink(c, c->fd);
        fds_release(c);
    }
    fake.linger = 1;
    c = fds_create(5, ORIGIN_SOCKET);
    buffered("abc");
    lowest_asked = 0;
    free_numbers = 1000;
    EXPECT(close_lingers(c, 5) == CLOSE_ENDS && lowest_asked == 0);
    EXPECT_INT("SO_LINGER of 0 s resets: it is dropped", buffer_length(c), 0);
}

/* ---- the age of a hold without a window --------------------------------- */

enum { ENDPOINT = 9 };

/* What a late hold of a habit costs, by what its thread has used since it began. */
static const struct {
    const char *name;
    bool watched, wrong, of_no_endpoint, of_another, filtered;
    uint64_t age, cpu_ns, waits, lost;
    int error;
    bool is_watched;
} late[] = {
    {"soon", .age = 5 * MS, .is_watched = false},
    {"the first, its message goes on", .is_watched = true},
    {"the first, its message was complete", .wrong = true},
    {"no endpoint", .of_no_endpoint = true},
    {"others had the processor", .watched = true, .lost = 1, .is_watched = true},
    {"twice", .watched = true, .lost = 2, .is_watched = true},
    {"it yields", .watched = true, .lost = 3},
    {"nobody had it", .watched = true},
    {"a push ended it", .watched = true, .lost = 1, .wrong = true},
    {"5 ms of its own", .watched = true, .lost = 1, .cpu_ns = HOLD_LATE_NS, .is_watched = true},
    {"it computed", .watched = true, .lost = 1, .cpu_ns = HOLD_LATE_NS + 1},
    {"it waited", .watched = true, .lost = 1, .waits = 1},
    {"not known", .watched = true, .lost = 1, .error = -EPERM},
    {"not asked behind a filter", .watched = true, .lost = 1, .filtered = true},
    {"another thread's hold", .watched = true, .lost = 1, .of_another = true},
};

Test(hold, why_a_hold_was_late) {
    EACH_ROW(row, late) {
        bool soon = row->age != 0, costs = !soon && !row->is_watched;
        window_now = WINDOW_WITHOUT;
        config_switch(MODE_AUTO, row->filtered);
        c->endpoint = row->of_no_endpoint ? 0 : ENDPOINT;
        endpoint_late[ENDPOINT] = (struct endpoint_late){row->watched, false};
        c->policy = (struct policy){.mode = MODE_AUTO, .established = true, .quick_turns = HABIT};
        fake.usage = (struct kernel_usage){7000 * MS, 70, 700};
        fake.usage_error = row->error;
        window_watch(c);
        EXPECT_TEXT(row->name, fake_log(), row->watched && !row->filtered ? "usage(-1)" : "");
        if (row->of_another)
            self.hold.of = NULL;
        clock_stopped += soon ? row->age : 50 * MS;
        fake.usage.cpu_ns += row->cpu_ns;
        fake.usage.waits += row->waits;
        fake.usage.lost += row->lost;
        hold_check_age(c, !row->wrong);
        EXPECT_INT(row->name, c->policy.nodelay_only, costs);
        EXPECT_INT(row->name, endpoint_late[ENDPOINT].nodelay_only, costs && !row->of_no_endpoint);
        EXPECT_INT(row->name, c->policy.quick_turns, row->is_watched && !row->watched ? 0 : HABIT);
        hold_check_age(c, !row->wrong);
        EXPECT_INT("once", c->policy.nodelay_only, costs);
        EXPECT(!endpoint_late[0].watched && !endpoint_late[0].nodelay_only);
        fake_log();
    }
    window_now = WINDOW_RUNS;
    clock_stopped += 500 * MS;
    c->policy.nodelay_only = false;
    hold_check_age(c, true);
    EXPECT(!c->policy.nodelay_only); /* a thread has the window */
}

/* In cork the user asks for it: the kernel must have ended four in a row.  A write that joins a hold looks,
 * and a push; without a hold there is no age. */
Test(hold, four_that_the_kernel_ended_in_a_row) {
    window_now = WINDOW_WITHOUT;
    for (uint64_t age = 200 * MS; age <= 200 * MS + 1; age++) {
        c->policy = (struct policy){.mode = MODE_CORK, .established = true};
        for (int i = 1; i <= 6; i++) {
            c->habit_ns = clock_stopped - age;
            c->held = i != 2;
            if (i == 3)
                push(PUSH_WAIT);
            else
                join();
            EXPECT_INT("nodelay only", c->policy.nodelay_only, age > 200 * MS && i >= 5);
        }
        c->held = false;
    }
}

/* The other connections of an endpoint use the proof of one, and new ones. */
Test(hold, a_sibling_of_a_late_one) {
    c->endpoint = ENDPOINT;
    join();
    EXPECT(!c->policy.nodelay_only);
    hold_end_turn(PUSH_WAIT);
    endpoint_late[ENDPOINT].nodelay_only = true;
    join();
    EXPECT(c->policy.nodelay_only);
    for (uint8_t endpoint = ENDPOINT; endpoint < ENDPOINT + 2; endpoint++) {
        struct conn next = {.fd = 6};
        endpoint_join(&next, endpoint);
        EXPECT_INT("a new one", next.policy.nodelay_only, endpoint == ENDPOINT);
    }
}

/* ---- the cache of endpoints --------------------------------------------- */

static uint8_t entry_of_port(unsigned port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    memset(to.sin_zero, (int)port, sizeof(to.sin_zero)); /* no part of the address */
    return endpoint_of_destination((struct sockaddr *)&to, sizeof(to));
}

static struct policy learned(uint8_t entry) {
    struct conn next = {.fd = 6};
    endpoint_join(&next, entry);
    return next.policy;
}

static void update_endpoint(uint8_t entry) {
    struct conn before = {.endpoint = entry,
                          .policy = {.bursty = true, .input_ever = true, .quick_turns = 7}};
    before.policy.model.ended[0] = 17;
    before.policy.model.ended[15] = 18;
    endpoint_update(&before);
}

/* Two endpoints that share an entry take turns with it; one keeps it. */
Test(endpoints, an_entry_is_of_one_endpoint) {
    static bool used[256];
    int distinct = 0;
    for (unsigned port = 1; port <= 2000; port++) {
        ASSERT(entry_of_port(port) != 0);
        distinct += !used[entry_of_port(port)];
        used[entry_of_port(port)] = true;
    }
    cr_expect(distinct > 240, "%d", distinct);
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

Test(endpoints, what_teaches_an_entry) {
    EACH_ROW(row, lessons) {
        uint8_t entry = (uint8_t)(20 + (row - lessons));
        struct conn one = {.endpoint = entry, .policy = row->policy, .counts = {.turns = row->turns}};
        if (row->policy.nodelay_only)
            update_endpoint(entry);
        endpoint_update(&one);
        EXPECT_INT(row->name, learned(entry).bursty, row->learns);
    }
    update_endpoint(0);
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
    {"another family", AF_UNIX, sizeof(struct sockaddr_in6), false},
    {"no address", AF_INET, 0, false},
};

Test(endpoints, addresses) {
    struct sockaddr_in6 to = {.sin6_port = htons(80)};
    EACH_ROW(row, addresses) {
        to.sin6_family = row->family;
        uint8_t entry = endpoint_of_destination((struct sockaddr *)&to, row->length);
        EXPECT_INT(row->name, entry != 0, row->known);
    }
    to.sin6_family = AF_INET6;
    uint8_t first = endpoint_of_destination((struct sockaddr *)&to, sizeof(to));
    to.sin6_addr.s6_addr[15] = 1;
    EXPECT(endpoint_of_destination((struct sockaddr *)&to, sizeof(to)) != first);
    /* listeners: two of 255 entries may be the same by chance, not for each of eight numbers */
    static struct conn listeners[2];
    unsigned by_place = 0, by_number = 0;
    for (int fd = 70; fd < 78; fd++) {
        listeners[0].fd = 5;
        uint8_t before = endpoint_of_listener(&listeners[0]);
        listeners[0].fd = listeners[1].fd = fd;
        by_place += endpoint_of_listener(&listeners[0]) != endpoint_of_listener(&listeners[1]);
        by_number += endpoint_of_listener(&listeners[0]) != before;
    }
    EXPECT(by_place > 4 && by_number > 4);
}
