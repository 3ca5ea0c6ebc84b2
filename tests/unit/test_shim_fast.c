/* SPDX-License-Identifier: MIT
 *
 * The fast path of a write: each circumstance in which it must leave the call to the long path, which the
 * rows can tell from it.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

#include "coalesce_buffer.h"
#include "config.h"
#include "turn.h"
#include "real.h"
#include "whole.h"

static struct conn *c;

static void none(void) {}

/* ---- the steady state --------------------------------------------------- */

static void a_filter_is_there(void) {
    config_switch(MODE_CORK, true);
}
static void the_mode_has_changed(void) {
    config_switch(MODE_OFF, false);
}
static void a_child_may_have_changed_it(void) {
    nodelay_epoch++;
}
static void an_error_is_kept(void) {
    conn_keep_error(c, ECONNRESET);
}
static void it_is_not_connected(void) {
    c->policy.established = false;
}
static void its_mode_is_observe(void) {
    c->policy.mode = MODE_OBSERVE;
}
static void the_process_ends(void) {
    hold_refused = true;
}
static void the_thread_is_undecided(void) {
    config_load((char *[]){(char[]){"UNSTALL_MODE=cork"}, (char[]){"UNSTALL_THREAD=never"}, NULL}, "prog");
    c->epoch = config()->epoch;
    window_now = WINDOW_NONE;
}
static void another_turn_is_open(void) {
    whole_connected(6);
    whole_write(6, "x");
    fake_log();
}

static const struct {
    const char *name;
    void (*before)(void);
    ssize_t result;
    const char *log;
} states[] = {
    {"steady", none, 3, "SEND_MORE(5,abc)"},
    {"a filter", a_filter_is_there, 3, "WRITE(5,abc)"},
    {"another mode", the_mode_has_changed, 3, "nodelay(5,0) WRITE(5,abc)"},
    {"a child", a_child_may_have_changed_it, 3, "SEND_MORE(5,abc)"},
    {"a kept error", an_error_is_kept, -1, ""},
    {"not connected", it_is_not_connected, 3, "WRITE(5,abc)"},
    {"a mode that does not cure", its_mode_is_observe, 3, "WRITE(5,abc)"},
    {"the process ends", the_process_ends, 3, "WRITE(5,abc)"},
    {"the thread is undecided", the_thread_is_undecided, 3, "SEND_MORE(5,abc)"},
    {"another turn", another_turn_is_open, 3, "nodelay(6,1) info(6) SEND_MORE(5,abc)"},
};

Test(shim_fast, states_of_a_connection) {
    EACH_ROW(row, states) {
        whole_start_in(MODE_CORK);
        hold_refused = false;
        c = whole_connected(5);
        whole_write(5, "x");
        whole_read(5, 10);
        fake_log();
        row->before();
        errno = 4711;
        EXPECT_INT(row->name, whole_write(5, "abc"), row->result);
        EXPECT_INT(row->name, errno, row->result < 0 ? ECONNRESET : 4711);
        EXPECT_TEXT(row->name, fake_log(), row->log);
        EXPECT_INT(row->name, self.depth, 0);
        EXPECT_INT(row->name, window_state(),
            row->before == the_thread_is_undecided ? WINDOW_NEVER : WINDOW_RUNS);
        EXPECT_INT(row->name, c->policy.nodelay_uncertain, row->before == a_child_may_have_changed_it);
        EXPECT_INT(row->name, c->nodelay_checked == nodelay_epoch, true);
        window_now = WINDOW_RUNS;
        hold_end_turn(PUSH_WAIT);
        shim_closing(5);
        shim_closing(6);
    }
}

/* ---- flags and sizes ---------------------------------------------------- */

static const struct {
    const char *name;
    int flags;
    const char *log;
    bool app_more;
} flags[] = {
    {"none", 0, "SEND_MORE(5,abc)", false},
    {"MSG_NOSIGNAL", MSG_NOSIGNAL, "SEND_MORE(5,abc)", false},
    {"MSG_DONTWAIT", MSG_DONTWAIT, "SEND_MORE(5,abc)", false},
    {"MSG_MORE", MSG_MORE, "SEND_MORE(5,abc)", true},
    {"MSG_OOB", MSG_OOB, "SEND(5,abc)", false},
    {"MSG_EOR with another", MSG_EOR | MSG_NOSIGNAL, "SEND(5,abc)", false},
};

Test(shim_fast, flags_of_a_write) {
    EACH_ROW(row, flags) {
        whole_start_in(MODE_CORK);
        c = whole_connected(5);
        EXPECT_INT(row->name, whole_send(5, "abc", row->flags), 3);
        EXPECT_TEXT(row->name, fake_log(), row->log);
        EXPECT_INT(row->name, c->policy.app_more, row->app_more);
        EXPECT_INT(row->name, c->counts.writes, 1);
        hold_end_turn(PUSH_WAIT);
        shim_closing(5);
    }
}

/* A write of nothing, and one larger than a call can return, are the kernel's. */
Test(shim_fast, sizes_of_a_write) {
    static const enum mode modes[] = {MODE_NODELAY, MODE_CORK, MODE_COALESCE};
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        whole_start_in(modes[i]);
        c = whole_warm(5);
        struct conn_counts before = c->counts;
        EXPECT_INT("nothing", whole_write(5, ""), 0);
        EXPECT_TEXT("nothing", fake_log(), "WRITE(5,)");
        EXPECT_INT("too large", shim_write_fast(5, "abc", (size_t)SSIZE_MAX + 1, 0, FORM_WRITE, 0), -1);
        EXPECT_INT("refused", errno, EINVAL);
        EXPECT_INT("not counted", c->counts.writes, before.writes);
        EXPECT_INT("not counted", c->counts.bytes, before.bytes);
        EXPECT_INT("depth", self.depth, 0);
        shim_closing(5);
    }
}

/* Each form of a write keeps its call, plain and held. */
Test(shim_fast, forms_of_a_write) {
    static const struct {
        const char *name;
        enum out_form form;
        const char *plain;
    } rows[] = {{"write", FORM_WRITE, "WRITE(5,abc)"}, {"send", FORM_SEND, "SEND(5,abc)"},
                {"sendto", FORM_SENDTO, "SENDTO(5,abc)"}};
    EACH_ROW(row, rows)
        for (int cork = 0; cork < 2; cork++) {
            whole_start_in(cork ? MODE_CORK : MODE_NODELAY);
            whole_connected(5);
            EXPECT_INT(row->name, shim_write_fast(5, "abc", 3, 0, row->form, 0), 3);
            EXPECT_TEXT(row->name, fake_log(), cork ? "SEND_MORE(5,abc)" : row->plain);
            hold_end_turn(PUSH_WAIT);
            shim_closing(5);
        }
}

/* ---- the first buffered write of a turn --------------------------------- */

static bool by_number_6, from_nowhere;

static void has_no_cookie(void) {
    c->cookie = 0;
}
static void by_another_number(void) {
    shim_duplicated(5, 6);
    by_number_6 = true;
}
static void its_room_is_unknown(void) {
    c->policy.buffer_limit = 0;
}
static void it_may_have_no_room(void) {
    c->policy.sndbuf_maybe_full = true;
    fake.full = true;
}
static void its_room_is_asked(void) {
    c->policy.sndbuf_maybe_full = true;
}
static void it_is_another_socket(void) {
    fake.cookie = 99;
    fake.protocol = 0; /* ... of which nothing is known */
}
static void bytes_from_nowhere(void) {
    from_nowhere = true;
}

static const struct {
    const char *name;
    void (*before)(void);
    bool buffered;
    ssize_t result;
    const char *log;
} begins[] = {
    {"steady", none, true, 3, "cookie(5)"},
    {"no cookie", has_no_cookie, true, 3, "cookie(5)"},
    {"by another number", by_another_number, true, 3, "cookie(6)"},
    {"its room is unknown", its_room_is_unknown, true, 3, "room(5) cookie(5)"},
    {"it may have no room", it_may_have_no_room, false, 3, "room(5) WRITE(5,abc)"},
    {"it has room again", its_room_is_asked, true, 3, "room(5) cookie(5)"},
    {"another socket", it_is_another_socket, false, 3, "cookie(5) cookie(5) protocol(5) WRITE(5,abc)"},
    {"bytes from nowhere", bytes_from_nowhere, false, -1, "WRITE(5,bad)"},
};

Test(shim_fast, the_first_buffered_write) {
    const char *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EACH_ROW(row, begins) {
        whole_start_in(MODE_COALESCE);
        c = whole_warm(5);
        by_number_6 = from_nowhere = false;
        row->before();
        fake_log();
        size_t bytes = from_nowhere ? 4096 : 3;
        ssize_t result = from_nowhere ? 0 : shim_write_fast(by_number_6 ? 6 : 5, "abc", bytes, 0, FORM_WRITE,
            0);
        if (from_nowhere) {
            real_write = NULL; /* libc's, which the kernel refuses */
            result = shim_write_fast(5, nowhere, bytes, 0, FORM_WRITE, 0);
            EXPECT_INT(row->name, buffer_length(c), 0);
            EXPECT_INT(row->name, result, -1);
        } else {
            EXPECT_INT(row->name, result, row->result);
            EXPECT_INT(row->name, buffer_length(c) == 3, row->buffered);
            EXPECT_TEXT(row->name, fake_log(), row->log);
            EXPECT(!row->buffered || c->fd == (by_number_6 ? 6 : 5));
        }
        EXPECT_INT(row->name, self.depth, 0);
        hold_end_turn(PUSH_WAIT);
        shim_closing(5);
        shim_closing(6);
    }
}

/* ---- the next ones ------------------------------------------------------ */

static void another_thread_has_the_turn(void) {
    static struct thread other;
    c->turn_owner = &other;
}
static void the_turn_is_over(void) {
    self.turn = NULL;
}
static void the_mode_is_cork(void) {
    c->policy.mode = MODE_CORK;
}
static void no_more_is_held(void) {
    hold_refused = true;
}
static void the_room_is_small(void) {
    c->policy.buffer_limit = 5;
}

static const struct {
    const char *name;
    void (*before)(void);
    bool joins;
} nexts[] = {
    {"steady", none, true},
    {"another thread has the turn", another_thread_has_the_turn, true},
    {"the turn is over", the_turn_is_over, true},
    {"another mode", the_mode_is_cork, false},
    {"the process ends", no_more_is_held, false},
    {"more than the kernel will have room for", the_room_is_small, false},
};

Test(shim_fast, the_next_buffered_write) {
    EACH_ROW(row, nexts) {
        whole_start_in(MODE_COALESCE);
        hold_refused = false;
        c = whole_warm(5);
        struct conn_counts before = c->counts;
        EXPECT_INT("first", whole_write(5, "abc"), 3);
        row->before();
        fake_log();
        EXPECT_INT(row->name, whole_write(5, "def"), 3);
        EXPECT_INT(row->name, buffer_length(c), row->joins ? 6 : 0);
        const char *log = fake_log();
        cr_expect(!strstr(log, "abc") == row->joins, "%s: %s", row->name, log);
        EXPECT_INT(row->name, c->counts.writes - before.writes, 2);
        EXPECT_INT(row->name, c->counts.bytes - before.bytes, 6);
        EXPECT_INT(row->name, c->counts.bursts - before.bursts, 1);
        EXPECT_INT(row->name, c->counts.buffered_writes - before.buffered_writes, row->joins ? 2 : 1);
        EXPECT_INT(row->name, self.depth, 0);
        hold_refused = false;
        self.turn = c;
        c->turn_owner = &self;
        hold_end_turn(PUSH_WAIT);
        EXPECT_TEXT(row->name, fake.wire_buffer, "abcdef");
        shim_closing(5);
    }
}
