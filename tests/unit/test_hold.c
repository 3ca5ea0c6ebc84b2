/* SPDX-License-Identifier: MIT
 *
 * Turns of a thread and the push, against a kernel that only writes down.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "clock.h"
#include "turn.h"
#include "config.h"
#include "fake_kernel.h"
#include "fds.h"
#include "buffered.h"
#include "window.h"
#include "unit.h"

static struct conn *c;

static void set_up(void) {
    c = fake_kernel_connected(MODE_AUTO);
    c->policy.untracked_io = false;
}

TestSuite(hold, .init = set_up);

static void in_mode(enum mode mode) {
    c->policy.mode = (uint8_t)mode;
}

static void buffered(const char *bytes) {
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

/* ---- the push ------------------------------------------------------------ */

Test(hold, push_of_nothing_asks_nothing) {
    push(PUSH_WAIT);
    EXPECT_TEXT("log", fake_log(), "");
    EXPECT_INT("counted", c->counts.pushes[PUSH_WAIT], 0);
}

Test(hold, push_is_one_call_and_clears) {
    in_mode(MODE_CORK);
    c->held = true;
    c->policy.untracked_io = true; /* no probe: this is about the push */
    push(PUSH_READ);
    EXPECT_TEXT("log", fake_log(), "nodelay(5,1)");
    EXPECT(!c->held && c->policy.nodelay);
    EXPECT_INT("counted", c->counts.pushes[PUSH_READ], 1);
    push(PUSH_READ);
    EXPECT_TEXT("once", fake_log(), "");
    EXPECT_INT("once", c->counts.pushes[PUSH_READ], 1);
}

static const struct {
    const char *name;
    enum mode mode;
    enum push_cause cause;
    uint32_t mispredicted;
} causes[] = {
    {"auto: the turn was shorter than foretold", MODE_AUTO, PUSH_WAIT, 1},
    {"auto: before a read", MODE_AUTO, PUSH_READ, 1},
    {"auto: the window is no prediction", MODE_AUTO, PUSH_WINDOW, 0},
    {"cork foretells nothing", MODE_CORK, PUSH_WAIT, 0},
};

Test(hold, mispredictions) {
    EACH_ROW(row, causes) {
        c->counts = (struct conn_counts){0};
        in_mode(row->mode);
        c->held = true;
        push(row->cause);
        EXPECT_INT(row->name, c->counts.mispredictions, row->mispredicted);
        EXPECT_INT(row->name, c->counts.pushes[row->cause], 1);
    }
}

static const struct {
    const char *name;
    int error;
    bool nodelay, another_kind;
} refusals[] = {
    {"it works", 0, true, false},
    {"the number was closed behind our back", -EBADF, false, false},
    {"... and is no socket now", -ENOTSOCK, false, false},
    {"... and is UDP now", -ENOPROTOOPT, false, true},
    {"... and is a Unix socket now", -EOPNOTSUPP, false, true},
};

Test(hold, nodelay_is_believed_only_when_it_worked) {
    EACH_ROW(row, refusals) {
        c->policy.nodelay = c->policy.untracked_io = false;
        c->policy.mode = MODE_CORK;
        fake.set_error = row->error;
        errno = 4711;
        hold_set_nodelay(c, 5);
        EXPECT_INT(row->name, c->policy.nodelay, row->nodelay);
        EXPECT_INT(row->name, c->policy.mode, row->another_kind ? MODE_OFF : MODE_CORK);
        EXPECT_TEXT(row->name, fake_log(), "nodelay(5,1)");
        /* a datagram that our MSG_MORE left open ends with an empty send */
        c->held = c->policy.untracked_io = true; /* untracked: no probe */
        push(PUSH_WAIT);
        EXPECT_TEXT(row->name, fake_log(),
                    row->another_kind ? "nodelay(5,1) send(5,)" : "nodelay(5,1)");
        EXPECT_INT(row->name, errno, 4711);
    }
}

/* ---- buffered bytes --------------------------------------------------------- */

Test(hold, buffered_bytes_leave_in_one_call) {
    in_mode(MODE_COALESCE);
    buffered("head");
    buffered("body");
    push(PUSH_WAIT);
    EXPECT_TEXT("log", fake_log(), "send(5,headbody)");
    EXPECT_INT("counted", c->counts.pushes[PUSH_WAIT], 1);
    cr_expect(!c->policy.nodelay, "one unit a message: Nagle does not matter");
}

Test(hold, a_second_unit_needs_nodelay) {
    in_mode(MODE_COALESCE);
    buffered("head");
    push(PUSH_WAIT);
    buffered("body");
    push(PUSH_WAIT);
    EXPECT_TEXT("log", fake_log(), "send(5,head) nodelay(5,1) send(5,body)");
    EXPECT_INT("counted", c->counts.late_pushes, 1);
}

Test(hold, a_second_unit_of_unknown_size_asks_for_the_mss) {
    static char big[701];
    memset(big, 'x', 700);
    in_mode(MODE_COALESCE);
    buffered("head");
    push(PUSH_WAIT);
    fake_log();
    buffered(big);
    push(PUSH_WAIT);
    EXPECT_INT("mss", c->policy.mss, 1460);
    const char *log = fake_log();
    cr_expect(strncmp(log, "mss(5) nodelay(5,1) send(5,xxx", 30) == 0, "%s", log);
    EXPECT_INT("units", c->policy.units, 2);
}

Test(hold, a_full_kernel_keeps_order_and_counts_once) {
    in_mode(MODE_COALESCE);
    buffered("abcdef");
    fake.sends[0] = 2;
    fake.sends[1] = -EAGAIN;
    fake.sends[2] = -EAGAIN;
    push(PUSH_WAIT);
    EXPECT_TEXT("log", fake_log(), "send(5,abcdef) send(5,cdef)");
    EXPECT(c->flush_blocked);
    cr_expect(c->policy.sndbuf_maybe_full, "policy buffers nothing more for a kernel that has no room");
    push(PUSH_WINDOW);
    EXPECT_TEXT("again", fake_log(), "send(5,cdef)");
    EXPECT(c->flush_blocked);
    push(PUSH_WINDOW);
    EXPECT_TEXT("and again", fake_log(), "send(5,cdef)");
    EXPECT(!c->flush_blocked && buffer_length(c) == 0);
    EXPECT_TEXT("wire", fake.wire_buffer, "abcdef");
    EXPECT_INT("one unit", c->policy.units, 1);
    EXPECT_INT("one push", c->counts.pushes[PUSH_WAIT] + c->counts.pushes[PUSH_WINDOW], 1);
}

Test(hold, an_error_is_kept_and_nothing_is_sent_behind_it) {
    in_mode(MODE_COALESCE);
    buffered("abc");
    fake.sends[0] = -EPIPE;
    push(PUSH_WAIT);
    EXPECT_INT("kept", c->pending_error, EPIPE);
    EXPECT(!c->flush_blocked && buffer_length(c) == 0);
    push(PUSH_CLOSE);
    EXPECT_TEXT("one try", fake_log(), "send(5,abc)");
    EXPECT_TEXT("wire", fake.wire_buffer, "");
}

Test(hold, while_another_thread_drains_nothing_is_sent) {
    in_mode(MODE_COALESCE);
    buffered("abc");
    c->draining = true;
    push(PUSH_WINDOW);
    EXPECT_TEXT("log", fake_log(), "");
    EXPECT_INT("still there", buffer_length(c), 3);
}

/* ---- the window -------------------------------------------------------------- */

static void window(void) {
    ASSERT(conn_lock(c));
    hold_window_ends(c);
    conn_unlock(c);
}

Test(hold, the_window_lets_go) {
    in_mode(MODE_CORK);
    c->held = true;
    c->policy.untracked_io = true;
    window();
    EXPECT_TEXT("log", fake_log(), "nodelay(5,1)");
    EXPECT_INT("counted", c->counts.pushes[PUSH_WINDOW], 1);
    EXPECT(c->policy.window_ends > 0);
}

/* The coarse clock goes on by so many seconds between the write and the end of the window. */
static const char *late_send(time_t seconds) {
    in_mode(MODE_COALESCE);
    c->cookie = 77;
    fake_clock_stands();
    buffered("abc");
    fake_clock.tv_sec += seconds;
    window();
    return fake_log();
}

/* With the kernel's clock it failed where a machine needed more than a tick, 4 ms, for it. */
Test(hold, the_window_checks_the_cookie_before_a_late_send) {
    EXPECT_TEXT("the same socket", late_send(0), "cookie(5) send(5,abc)");
}

Test(hold, the_send_asks_again_once_the_clock_has_moved) {
    EXPECT_TEXT("the same socket", late_send(1), "cookie(5) cookie(5) send(5,abc)");
}

static const struct {
    const char *name;
    uint64_t now;
} strangers[] = {{"another socket", 78}, {"no socket", 0}};

Test(hold, the_window_drops_what_would_go_to_a_stranger) {
    EACH_ROW(row, strangers) {
        in_mode(MODE_COALESCE);
        c->cookie = 77;
        buffered("abc");
        fake.cookie = row->now;
        window();
        EXPECT_TEXT(row->name, fake_log(), "cookie(5)");
        EXPECT_INT(row->name, buffer_length(c), 0);
        EXPECT_TEXT(row->name, fake.wire_buffer, "");
        EXPECT(!c->held);
    }
}

Test(hold, the_last_of_a_lingering_connection) {
    struct conn *again;
    c->lingering = true;
    ASSERT(conn_lock(c));
    close_linger_ends(c);
    EXPECT_TEXT("log", fake_log(), "close(5)");
    EXPECT_INT("unlocked", self.depth, 0);
    EXPECT_INT("word", fds_word(5), FDS_UNKNOWN);
    again = fds_create(9, ORIGIN_SOCKET);
    cr_expect(again == c && !again->lingering, "the pool has it again");
}

/* ---- options ------------------------------------------------------------------ */

static const struct {
    const char *name;
    bool ours, app;
    const char *log;
} restores[] = {
    {"we set it, the application did not", true, false, "nodelay(5,0)"},
    {"it set it too", true, true, ""},
    {"neither did", false, false, ""},
    {"it set it, another process took it off", false, true, "nodelay(5,1)"},
};

Test(hold, restore) {
    EACH_ROW(row, restores) {
        c->policy.nodelay = row->ours;
        c->policy.app_nodelay = row->app;
        hold_restore(c);
        EXPECT_TEXT(row->name, fake_log(), row->log);
        EXPECT_INT(row->name, c->policy.nodelay, row->app);
        hold_restore(c);
        EXPECT_TEXT(row->name, fake_log(), "");
    }
}

Test(hold, nodelay_is_uncertain_after_a_fork) {
    static const struct {
        const char *name;
        bool nodelay, app, shared, nodelay_uncertain;
    } rows[] = {
        {"set by us: the child may take it back", true, false, false, true},
        {"set by us, and inherited", true, false, true, true},
        {"set by the application", true, true, false, false},
        {"not set: the child may set it, and take it back later", false, false, false, true},
        {"not set, and inherited", false, false, true, false},
    };
    EACH_ROW(row, rows) {
        c->policy.nodelay = row->nodelay;
        c->policy.app_nodelay = row->app;
        c->shared = row->shared;
        c->policy.nodelay_uncertain = false;
        nodelay_epoch++;
        ASSERT(conn_lock(c));
        hold_nodelay_uncertain(c);
        conn_unlock(c);
        EXPECT_INT(row->name, c->nodelay_checked, nodelay_epoch);
        EXPECT_INT(row->name, c->policy.nodelay_uncertain, row->nodelay_uncertain);
    }
}

Test(hold, uncertainty_does_not_fade) {
    c->policy.nodelay = true;
    hold_nodelay_uncertain(c);
    for (unsigned i = 0; i < 1000; i++)
        hold_set_nodelay(c, 5);
    EXPECT(c->policy.nodelay_uncertain); /* a child may run its program at any time */
}

static const struct {
    const char *name;
    int answer;
    uint32_t wanted;
} sizes[] = {{"answered", 1448, 1448}, {"refused", 0, 536}, {"nonsense", -5, 536}};

Test(hold, mss) {
    EACH_ROW(row, sizes) {
        fake.mss = row->answer;
        c->policy.mss = 0;
        hold_ask_facts(c);
        EXPECT_INT(row->name, c->policy.mss, row->wanted);
        EXPECT_TEXT(row->name, fake_log(), "mss(5)");
        hold_ask_facts(c);
        EXPECT_TEXT("once", fake_log(), "");
    }
}

static const struct {
    const char *name;
    int nodelay, cork;
} options[] = {{"none", 0, 0}, {"TCP_NODELAY", 1, 0}, {"TCP_CORK", 0, 1}, {"both", 1, 1}};

/* The options of a connection whose creation we did not see. */
Test(hold, asks_a_stranger_for_its_options_once) {
    EACH_ROW(row, options) {
        c->policy.unsure = true;
        c->policy.mss = 1460;
        fake.nodelay = row->nodelay;
        fake.cork = row->cork;
        hold_ask_facts(c);
        EXPECT_TEXT(row->name, fake_log(), "nodelay?(5) cork?(5) ulp?(5) stamps?(5) zerocopy?(5) unsent?(5)");
        EXPECT_INT(row->name, c->policy.app_nodelay, row->nodelay);
        EXPECT_INT(row->name, c->policy.nodelay, row->nodelay);
        EXPECT_INT(row->name, c->policy.app_cork, row->cork);
        hold_ask_facts(c);
        EXPECT_TEXT("once", fake_log(), "");
    }
}

Test(hold, a_stranger_with_kernel_tls_is_never_held) {
    c->policy.unsure = true;
    memcpy(fake.ulp, "tls", sizeof("tls"));
    hold_ask_facts(c);
    EXPECT(c->policy.never_hold);
}

static const struct {
    const char *name;
    int stamps, zerocopy, unsent;
    bool apart;
} tellers[] = {{"none", 0, 0, 0, false},
               {"SO_TIMESTAMPING", 2, 0, 0, true},
               {"SO_ZEROCOPY", 0, 1, 0, true},
               {"TCP_NOTSENT_LOWAT", 0, 0, 16384, true},
               {"TCP_NOTSENT_LOWAT, without limit", 0, 0, -1, false}};

Test(hold, a_stranger_whose_writes_are_told_apart_is_never_held) {
    EACH_ROW(row, tellers) {
        c->policy.unsure = true;
        c->policy.never_hold = false;
        fake.stamps = row->stamps;
        fake.zerocopy = row->zerocopy;
        fake.unsent = row->unsent;
        hold_ask_facts(c);
        EXPECT_INT(row->name, c->policy.never_hold, row->apart);
    }
}

Test(hold, asks_before_it_sets) {
    c->policy.unsure = true;
    fake.nodelay = 1;
    hold_set_nodelay(c, 5);
    EXPECT_TEXT("log", fake_log(),
                "nodelay?(5) cork?(5) ulp?(5) stamps?(5) zerocopy?(5) unsent?(5) nodelay(5,1)");
    EXPECT(c->policy.app_nodelay);
}

static const struct {
    const char *name;
    enum mode mode;
    bool app_nodelay, app_cork, held;
    const char *log;
} untrackings[] = {
    {"nodelay is the remedy", MODE_NODELAY, false, false, false, "nodelay(5,1)"},
    {"off has none", MODE_OFF, false, false, false, ""},
    {"observe has none", MODE_OBSERVE, false, false, false, ""},
    {"the application's is enough", MODE_AUTO, true, false, false, ""},
    {"the application's cork is left alone", MODE_AUTO, false, true, false, ""},
    {"what is held leaves, by the same call", MODE_CORK, false, false, true, "nodelay(5,1)"},
};

Test(hold, untrack) {
    EACH_ROW(row, untrackings) {
        in_mode(row->mode);
        c->policy.untracked_io = false;
        c->policy.nodelay = c->policy.app_nodelay = row->app_nodelay;
        c->policy.app_cork = row->app_cork;
        c->held = row->held;
        fake.tcp_info_error = -EINVAL;
        ASSERT(conn_lock(c));
        hold_untrack(c);
        conn_unlock(c);
        const char *log = fake_log();
        const char *probe = strstr(log, " info(5)"); /* a push may ask once for untracked writes */
        cr_expect(strncmp(log, row->log, probe ? (size_t)(probe - log) : strlen(log) + 1) == 0,
                  "%s: %s", row->name, log);
        cr_expect(c->policy.untracked_io && !c->held, "%s", row->name);
    }
}

/* ---- untracked writes ----------------------------------------------------- */

static const struct {
    const char *name;
    enum conn_origin origin;
    uint64_t seen, sent, queued;
    int error;
    bool untracked_io;
} probes[] = {
    {"every byte is ours", ORIGIN_SOCKET, 300, 200, 100, 0, false},
    {"one byte more left", ORIGIN_SOCKET, 300, 301, 0, 0, true},
    {"one byte more waits", ORIGIN_SOCKET, 300, 200, 101, 0, true},
    {"accepted ones are asked too", ORIGIN_ACCEPTED, 300, 301, 0, 0, true},
    {"foreign ones have a past", ORIGIN_FOREIGN, 300, 9999, 0, 0, false},
    {"no answer is no proof", ORIGIN_SOCKET, 300, 9999, 0, -EINVAL, false},
};

Test(hold, probe) {
    EACH_ROW(row, probes) {
        in_mode(MODE_CORK);
        c->policy.untracked_io = false;
        c->origin = (uint8_t)row->origin;
        c->counts = (struct conn_counts){.bytes = row->seen};
        fake.tcp_info = (struct kernel_tcp_info){
            .bytes_sent = row->sent, .bytes_queued = row->queued, .segments_out = 1};
        fake.tcp_info_error = row->error;
        c->held = true;
        push(PUSH_WAIT);
        EXPECT_INT(row->name, c->policy.untracked_io, row->untracked_io);
    }
}

/* Asked after the pushes 1, 2, 4, 8 ...: a busy connection pays next to nothing. */
Test(hold, probes_are_rare) {
    in_mode(MODE_CORK);
    int asked = 0;
    for (int i = 0; i < 1000; i++) {
        c->held = true;
        push(PUSH_WAIT);
        asked += strstr(fake_log(), "info(5)") != NULL;
    }
    EXPECT_INT("of 1000 pushes", asked, 10);
}

/* ---- turns ---------------------------------------------------------------------- */

Test(hold, a_turn_opens_counts_and_ends) {
    in_mode(MODE_CORK);
    join();
    EXPECT(self.turn == c && c->turn_owner == &self);
    join();
    join();
    EXPECT_INT("turns", c->counts.turns, 1);
    EXPECT_INT("position", c->policy.position, 3);
    c->held = true;
    hold_end_turn(PUSH_WAIT);
    EXPECT(self.turn == NULL && c->turn_owner == NULL && !c->held);
    EXPECT_INT("position", c->policy.position, 0);
    EXPECT_INT("learnt", turn_predict(&c->policy.model, 3), TURN_LAST);
    join();
    EXPECT_INT("turns", c->counts.turns, 2);
}

Test(hold, the_end_of_no_turn_asks_nothing) {
    c->held = true; /* another thread's */
    hold_end_turn(PUSH_WAIT);
    EXPECT_TEXT("log", fake_log(), "");
    EXPECT(c->held);
}

Test(hold, what_is_buffered_leaves_before_a_signal) {
    in_mode(MODE_COALESCE);
    join();
    buffered("abc");
    hold_before_signal();
    EXPECT_TEXT("one call", fake_log(), "send(5,abc)");
    cr_expect(self.turn == c, "the turn goes on");
    hold_before_signal();
    EXPECT_TEXT("nothing more to do", fake_log(), "");
}

Test(hold, what_the_kernel_holds_may_stay_before_a_signal) {
    in_mode(MODE_CORK);
    join();
    c->held = true;
    hold_before_signal();
    EXPECT_TEXT("log", fake_log(), "");
    EXPECT(c->held);
}

/* A signal handler inside our own section, and a vfork child: nothing is touched. */
Test(hold, hands_off) {
    in_mode(MODE_CORK);
    join();
    c->held = true;
    self.depth = 1;
    in_handler();
    hold_end_turn(PUSH_WAIT);
    EXPECT(self.turn == c && c->held);
    self.depth = 0;
    self.vforked = true;
    hold_end_turn(PUSH_WAIT);
    hold_before_signal();
    EXPECT(self.turn == c && c->held && !hold_before_poll(true));
    self.vforked = false;
    EXPECT_TEXT("log", fake_log(), "");
    hold_end_turn(PUSH_WAIT);
    EXPECT(!c->held);
}

/* Before a wait for readiness: which connections are polled first, and whether the turn has ended by then. */
static const struct {
    const char *name;
    bool only_writable, held;
    uint8_t goes_on;
    bool ask, turn_goes_on;
    const char *log;
} polls[] = {
    {"for input: the turn ends", false, false, 0, false, false, ""},
    {"for input, with bytes held: they leave first", false, true, 0, false, false, "nodelay(5,1)"},
    {"for writability, nothing held: no matter", true, false, 0, false, true, ""},
    {"for writability, with bytes held: asked first", true, true, 0, true, true, ""},
    {"for input, where messages go on: asked first", false, true, 2, true, true, ""},
    {"for writability, where messages go on: asked first", true, false, 2, true, true, ""},
    {"once is no habit", false, false, 1, false, false, ""},
};

Test(hold, before_a_poll) {
    EACH_ROW(row, polls) {
        in_mode(MODE_CORK);
        c->policy.untracked_io = true; /* no probes */
        join();
        c->held = row->held;
        c->policy.goes_on = row->goes_on;
        EXPECT_INT(row->name, hold_before_poll(row->only_writable), row->ask);
        EXPECT_INT(row->name, self.turn == c, row->turn_goes_on);
        EXPECT_TEXT(row->name, fake_log(), row->log);
        hold_end_turn(PUSH_WAIT);
        fake_log();
    }
    cr_expect(!hold_before_poll(false) && !hold_before_poll(true), "no turn");
}

Test(hold, asked_and_told) {
    in_mode(MODE_AUTO);
    join();
    c->policy.goes_on = 5;
    errno = 4711;
    hold_asked(true);
    EXPECT(c->policy.kept_turn);
    EXPECT_INT("as before", c->policy.goes_on, 5);
    hold_asked(false);
    EXPECT_INT("errno", errno, 4711);
    EXPECT_INT("one less", c->policy.goes_on, 4);
}

/* A full send buffer on a connection of which nothing is known: asked because bytes are held, the
 * answer is no.  Other waits must not be asked first from then on. */
Test(hold, a_full_buffer_teaches_no_asking) {
    in_mode(MODE_CORK);
    c->policy.untracked_io = true;
    join();
    c->held = true;
    ASSERT(hold_before_poll(true));
    hold_asked(false);
    hold_end_turn(PUSH_WAIT);
    join();
    cr_expect(!hold_before_poll(false), "goes_on is %d", c->policy.goes_on);
}

/* ---- threads ---------------------------------------------------------------------- */

static void *hold_and_return(void *mode) {
    in_mode(*(enum mode *)mode);
    join();
    if (c->policy.mode == MODE_COALESCE)
        buffered("abc");
    else
        c->held = true;
    c->policy.untracked_io = true;
    return NULL;
}

static void run(void *(*body)(void *), void *argument) {
    pthread_t thread;
    ASSERT(pthread_create(&thread, NULL, body, argument) == 0);
    ASSERT(pthread_join(thread, NULL) == 0);
}

Test(hold, a_threads_return_ends_its_turn) {
    static const enum mode modes[] = {MODE_CORK, MODE_COALESCE, MODE_AUTO};
    static const char *const logs[] = {"nodelay(5,1)", "send(5,abc)", "nodelay(5,1)"};
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        enum mode mode = modes[i];
        run(hold_and_return, &mode);
        EXPECT_TEXT(mode_names[mode], fake_log(), logs[i]);
        cr_expect(c->turn_owner == NULL, "%s", mode_names[mode]);
        EXPECT_INT(mode_names[mode], c->counts.pushes[PUSH_PROCESS], i + 1);
    }
}

static void *hold_and_exit(void *mode) {
    hold_and_return(mode);
    pthread_exit(NULL);
}

Test(hold, so_does_pthread_exit) {
    enum mode mode = MODE_CORK;
    run(hold_and_exit, &mode);
    EXPECT_TEXT("log", fake_log(), "nodelay(5,1)");
}

static void *write_once(void *unused) {
    (void)unused;
    join();
    hold_end_turn(PUSH_WAIT);
    return NULL;
}

/* Another thread goes on with the message: its turn is its own, and ending mine later does not
 * end it again. */
Test(hold, another_thread_takes_over) {
    in_mode(MODE_NODELAY);
    c->policy.bursty = true; /* only then is there something to learn */
    join();
    join();
    run(write_once, NULL);
    EXPECT_INT("turns", c->counts.turns, 2);
    EXPECT_INT("it learned one write", turn_predict(&c->policy.model, 1), TURN_LAST);
    cr_expect(self.turn == c, "mine is not yet over");
    hold_end_turn(PUSH_WAIT);
    EXPECT(self.turn == NULL);
    EXPECT_INT("nothing learnt twice", turn_predict(&c->policy.model, 2), TURN_UNKNOWN);
}

static void *write_and_go_on(void *unused) {
    (void)unused;
    join();
    self.turn = NULL; /* the end of this thread does not end the turn: it goes on */
    return NULL;
}

Test(hold, the_end_of_mine_is_not_the_end_of_its_turn) {
    in_mode(MODE_NODELAY);
    join();
    run(write_and_go_on, NULL);
    const struct thread *owner = c->turn_owner;
    ASSERT(owner && owner != &self);
    hold_end_turn(PUSH_WAIT);
    EXPECT(self.turn == NULL && c->turn_owner == owner);
    EXPECT_INT("its write still counts", c->policy.position, 1);
}

/* ---- leaving a turn without the lock ---------------------------------------- */

static const struct {
    const char *name;
    bool held, buffers, locked, due, elsewhere, leaves;
} leavings[] = {
    {"nothing is held", .leaves = true},
    {"the kernel holds", .held = true},
    {"bytes are buffered", .buffers = true},
    {"somebody has the lock: his push may be under way", .locked = true},
    {"its endpoint is to be updated at once", .due = true},
    {"it is the turn of another connection", .elsewhere = true},
};

Test(hold, a_turn_is_left_where_nothing_is_to_be_done) {
    in_mode(MODE_COALESCE);
    EACH_ROW(row, leavings) {
        c->endpoint = row->due;
        c->counts.turns = row->due ? 3 : 4;
        join();
        c->held = row->held;
        if (row->buffers)
            buffered("x");
        if (row->locked)
            c->lock |= 1;
        if (row->elsewhere)
            self.turn = NULL;
        EXPECT_INT(row->name, hold_leaves_turn(c), row->leaves);
        EXPECT_INT(row->name, self.turn == NULL, row->leaves || row->elsewhere);
        EXPECT_INT(row->name, self.depth, 0);
        c->lock = lock_free_word();
        c->held = false;
        buffer_free(c);
        self.turn = NULL;
        c->turn_owner = NULL;
    }
}

Test(hold, a_turn_that_was_left_teaches_before_the_next_begins) {
    in_mode(MODE_AUTO);
    c->policy.bursty = true;
    join();
    join();
    ASSERT(hold_leaves_turn(c));
    EXPECT_INT("not yet", c->policy.model.ended[1], 0);
    join();
    EXPECT_INT("two writes were a turn", c->policy.model.ended[1], 255);
    EXPECT_INT("and the third begins one", c->policy.position, 1);
    EXPECT(self.turn == c && c->turn_owner == &self);
    ASSERT(hold_leaves_turn(c));
}

/* ---- the clock of a wait's end ------------------------------------------ */

static const struct {
    const char *name;
    enum push_cause cause;
    bool nodelay, app, timed;
} waits[] = {
    {"a wait, where we have set TCP_NODELAY", PUSH_WAIT, true, false, true},
    {"the application has", PUSH_WAIT, true, true, false},
    {"neither has", PUSH_WAIT, false, false, false},
    {"a read is no such wait", PUSH_READ, true, false, false},
};

Test(hold, only_a_wait_that_could_go_on_is_timed) {
    EACH_ROW(row, waits) {
        in_mode(MODE_AUTO);
        c->policy.nodelay = row->nodelay;
        c->policy.app_nodelay = row->app;
        c->wait_began = 0;
        join();
        hold_end_turn(row->cause);
        EXPECT_INT(row->name, c->wait_began != 0, row->timed);
    }
    cr_expect(!hold_could_go_on(), "no turn");
}

/* A socket met late may be a listener: the kernel is asked, unless that is known. */
Test(hold, only_of_a_stranger_it_is_asked_whether_it_listens) {
    in_mode(MODE_AUTO);
    for (int established = 0; established < 2; established++) {
        c->origin = ORIGIN_FOREIGN;
        c->policy.established = established;
        c->policy.nodelay = false;
        ASSERT(conn_lock(c));
        hold_untrack(c);
        conn_unlock(c);
        EXPECT_TEXT("log", fake_log(), established ? "nodelay(5,1)" : "get(5) nodelay(5,1)");
    }
}

/* Without a window: a piece that comes a while behind the one before it breaks the habit. */
Test(hold, a_late_piece_hesitates) {
    clock_stopped = 1000000000;
    window_now = WINDOW_WITHOUT;
    for (int late = 0; late < 2; late++) {
        c->policy.position = 2;
        c->policy.hesitated = false;
        c->habit_ns = clock_stopped - (late ? 10000000 : 1000);
        ASSERT(conn_lock(c));
        hold_learn_piece(c);
        conn_unlock(c);
        EXPECT_INT("hesitated", c->policy.hesitated, late);
        EXPECT_INT("the next one is measured from here", c->habit_ns, clock_stopped);
    }
}

Test(hold, what_was_never_to_be_held_stays_so) {
    c->policy.never_hold = c->policy.unsure = true; /* by SO_TXTIME, which is not asked */
    hold_ask_facts(c);
    EXPECT(c->policy.never_hold && !c->policy.unsure);
}

Test(hold, the_end_of_the_thread_is_watched_once) {
    hold_watch_thread_end();
    EXPECT(self.ends_watched);
}

/* The habit of quick turns is for programs without the window's thread. */
Test(hold, with_a_window_no_habit_is_learned) {
    clock_stopped = 1000000000;
    static const enum window_state states[] = {WINDOW_RUNS, WINDOW_WITHOUT};
    EACH_ROW(state, states) {
        in_mode(MODE_AUTO);
        c->policy.bursty = true;
        c->policy.quick_turns = 0;
        c->policy.position = 2;
        c->turn_owner = &self;
        self.turn = c;
        c->habit_ns = clock_now();
        window_now = (int)*state;
        hold_end_turn(PUSH_WAIT);
        EXPECT_INT("turns", c->policy.quick_turns, *state == WINDOW_WITHOUT);
    }
}
