/* SPDX-License-Identifier: MIT
 *
 * Descriptors' lives and reads, one fact at a time: the properties of an accepted connection, which close
 * gives an option back, which read or write elsewhere ends a turn, and how a connection is met.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include "coalesce_buffer.h"
#include "config.h"
#include "turn.h"
#include "real.h"
#include "shim.h"
#include "whole.h"

static struct conn *c;

static struct conn *known(int fd) {
    return fds_conn(fds_word(fd));
}

/* ---- properties of an accepted connection ----------------------------- */

static struct conn *listener(void) {
    shim_socket_made(3, AF_INET, SOCK_STREAM, 0);
    shim_listens(3);
    return known(3);
}

static struct conn *accepted(void) {
    shim_accepted(3, 6);
    return known(6);
}

Test(shim_steps, what_an_accepted_one_takes_over) {
    whole_start_in(MODE_AUTO);
    listener();
    c = accepted();
    EXPECT(c->policy.established && !c->policy.app_nodelay && !c->policy.nodelay && !c->policy.app_cork &&
           !c->policy.unsure && !c->policy.mptcp && !c->policy.never_hold &&
           !c->policy.untracked_io && !c->listener);
    EXPECT(c->origin == ORIGIN_ACCEPTED && c->nodelay_checked == nodelay_epoch && c->endpoint);
    shim_closing(6);
#define TAKES(field, value, of)                                            \
    do {                                                                   \
        struct conn *l = listener();                                       \
        l->field = (value);                                                \
        nodelay_epoch++;                                                   \
        l->nodelay_checked = nodelay_epoch;                                \
        c = accepted();                                                    \
        cr_expect(c->of, "%s", #field);                                    \
        EXPECT_INT(#field, c->nodelay_checked, nodelay_epoch);             \
        shim_closing(6);                                                   \
        shim_closing(3);                                                   \
    } while (0)
    TAKES(policy.app_nodelay, true, policy.app_nodelay);
    TAKES(policy.nodelay, true, policy.nodelay);
    TAKES(policy.app_cork, true, policy.app_cork);
    TAKES(policy.mptcp, true, policy.mptcp);
    TAKES(policy.never_hold, true, policy.never_hold);
    TAKES(policy.unsure, true, policy.unsure);
    TAKES(policy.had_option, true, policy.unsure);
#undef TAKES
    EXPECT_INT("depth", self.depth, 0);
}

/* One endpoint for all that a listener accepts. */
Test(shim_steps, endpoints) {
    whole_start_in(MODE_AUTO);
    listener();
    shim_accepted(3, 6);
    shim_accepted(3, 7);
    EXPECT(known(6)->endpoint && known(6)->endpoint == known(7)->endpoint);
    shim_accepted(3, 2);
    EXPECT(known(2)->policy.untracked_io); /* stdio's */
    EXPECT(!known(6)->policy.untracked_io);
}

Test(shim_steps, a_listener_has_no_option_of_ours) {
    whole_start_in(MODE_NODELAY);
    c = whole_connected(3);
    c->policy.nodelay = true; /* ours, for a stdio stream */
    fake_log();
    shim_listens(3);
    EXPECT_TEXT("given back", fake_log(), "nodelay(3,0)");
    EXPECT(c->listener && !c->policy.nodelay);
    shim_listens(99);
    EXPECT_INT("depth", self.depth, 0);
}

/* ---- which close gives an option back ----------------------------- */

static const struct {
    const char *name;
    enum conn_origin origin;
    bool passed, forked, shared, two, filter, back;
} closes[] = {
    {"our own", ORIGIN_SOCKET, false, false, false, false, false, false},
    {"passed on", ORIGIN_SOCKET, true, false, false, false, false, true},
    {"passed on, and to a child", ORIGIN_SOCKET, true, true, false, false, false, false},
    {"inherited", ORIGIN_FOREIGN, false, false, false, false, false, true},
    {"our parent's", ORIGIN_FOREIGN, false, false, true, false, false, false},
    {"one of two numbers", ORIGIN_FOREIGN, false, false, false, true, false, false},
    {"under a filter", ORIGIN_FOREIGN, false, false, false, false, true, false},
};

Test(shim_steps, which_close_gives_an_option_back) {
    EACH_ROW(row, closes) {
        whole_start_in(MODE_NODELAY);
        c = whole_connected(5);
        c->policy.nodelay = true;
        c->origin = (uint8_t)row->origin;
        c->passed = row->passed;
        c->shared = row->shared;
        c->forks = (uint8_t)(forks_made - row->forked);
        if (row->two)
            shim_duplicated(5, 6);
        if (row->filter)
            config_switch(MODE_NODELAY, true);
        fake_log();
        shim_closing(5);
        EXPECT_TEXT(row->name, fake_log(), row->back ? "nodelay(5,0)" : "");
        EXPECT_INT(row->name, c->refs, row->two);
        EXPECT_INT(row->name, fds_word(5), FDS_UNKNOWN);
        EXPECT_INT(row->name, self.depth, 0);
        shim_closing(6);
    }
}

/* ---- ends of a turn --------------------------------------------------- */

static const struct {
    const char *name;
    uintptr_t word;
    bool ends;
} others[] = {
    {"a file", FDS_FILE, false},
    {"something that may block", FDS_OTHER, true},
    {"unknown", FDS_UNKNOWN, true},
};

Test(shim_steps, a_close_elsewhere) {
    EACH_ROW(row, others) {
        whole_start_in(MODE_CORK);
        c = whole_warm(5);
        whole_write(5, "abc");
        ASSERT(self.turn == c);
        fds_set(9, row->word);
        shim_closing(9);
        EXPECT_INT(row->name, self.turn == NULL, row->ends);
        EXPECT_INT(row->name, fds_word(9), FDS_UNKNOWN);
        hold_end_turn(PUSH_WAIT);
        shim_closing(5);
    }
}

/* A write or a read elsewhere; an unknown descriptor is classified only if the turn depends on it. */
static const struct {
    const char *name;
    uintptr_t word, then;
    int protocol, file;
    bool filter, ends;
} elsewhere[] = {
    {"a file", FDS_FILE, FDS_FILE, 0, 0, false, false},
    {"another kind", FDS_OTHER, FDS_OTHER, 0, 0, false, true},
    {"no socket, and a file", FDS_NO_SOCKET, FDS_FILE, 0, 1, false, false},
    {"no socket, and no file", FDS_NO_SOCKET, FDS_OTHER, 0, 0, false, true},
    {"no socket, and nobody knows", FDS_NO_SOCKET, FDS_OTHER, 0, -EBADF, false, true},
    {"unknown, no socket, a file", FDS_UNKNOWN, FDS_FILE, -ENOTSOCK, 1, false, false},
    {"unknown, no socket, no file", FDS_UNKNOWN, FDS_OTHER, -ENOTSOCK, 0, false, true},
    {"unknown, a UDP socket", FDS_UNKNOWN, FDS_OTHER, IPPROTO_UDP, 1, false, true},
    {"unknown, closed", FDS_UNKNOWN, FDS_UNKNOWN, -EBADF, 1, false, true},
    {"no question under a filter", FDS_NO_SOCKET, FDS_NO_SOCKET, 0, 1, true, true},
};

static int file_answer;

static int is_file(int fd) {
    EXPECT_INT("fd", fd, 9);
    return file_answer;
}

Test(shim_steps, a_write_elsewhere) {
    EACH_ROW(row, elsewhere)
        for (int reads = 0; reads < 2; reads++) {
            static struct kernel_ops ops;
            whole_start_in(MODE_CORK);
            ops = *kernel;
            ops.is_file = is_file;
            kernel = &ops;
            c = whole_connected(5);
            whole_write(5, "abc");
            fds_set(9, row->word);
            fake.protocol = row->protocol;
            file_answer = row->file;
            if (row->filter)
                config_switch(MODE_CORK, true);
            if (reads)
                shim_read_begins(9, false);
            else
                shim_other_write(9);
            EXPECT_INT(row->name, self.turn == NULL, row->ends);
            EXPECT_INT(row->name, fds_word(9), row->then);
            EXPECT_INT(row->name, self.depth, 0);
            hold_end_turn(PUSH_WAIT);
            shim_closing(5);
            fds_forget(9);
        }
}

/* Where the turn holds nothing and would not, nothing is asked. */
Test(shim_steps, a_turn_that_holds_nothing) {
    whole_start_in(MODE_NODELAY);
    c = whole_connected(5);
    whole_write(5, "abc");
    fds_set(9, FDS_NO_SOCKET);
    fake_log();
    shim_other_write(9);
    EXPECT_TEXT("log", fake_log(), "");
    EXPECT(self.turn == NULL);
    EXPECT_INT("still not asked", fds_word(9), FDS_NO_SOCKET);
}

/* ---- dup2 --------------------------------------------------------------- */

static const struct {
    const char *name;
    int fd_flags;
    bool connection, filter, closes;
} replaces[] = {
    {"it will succeed", 0, true, false, true},
    {"the first number is none", -EBADF, true, false, false},
    {"what stood there is no connection", -EBADF, false, false, true},
    {"nothing may be asked", -EBADF, true, true, true},
};

Test(shim_steps, dup2) {
    EACH_ROW(row, replaces) {
        whole_start_in(MODE_NODELAY);
        if (row->connection)
            whole_connected(6);
        else
            fds_set(6, FDS_OTHER);
        fake.fd_flags = row->fd_flags;
        if (row->filter)
            config_switch(MODE_NODELAY, true);
        shim_replacing(5, 6);
        EXPECT_INT(row->name, fds_word(6) == FDS_UNKNOWN, row->closes);
        EXPECT_INT(row->name, self.depth, 0);
        fds_forget(6);
    }
}

/* dup2(2) refuses a number at the limit, though one above it may be open. */
Test(shim_steps, dup2_at_the_limit_of_numbers) {
    struct rlimit before, limit;
    ASSERT(getrlimit(RLIMIT_NOFILE, &before) == 0);
    whole_start_in(MODE_NODELAY);
    for (int beyond = 0; beyond < 2; beyond++) {
        whole_connected(400);
        limit = before;
        limit.rlim_cur = beyond ? 400 : 401;
        ASSERT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        shim_replacing(5, 400);
        setrlimit(RLIMIT_NOFILE, &before);
        EXPECT_INT("closed", fds_word(400) == FDS_UNKNOWN, !beyond);
        fds_forget(400);
    }
}

/* ---- reads -------------------------------------------------------------- */

Test(shim_steps, a_read_tells_what_it_is_of) {
    whole_start_in(MODE_NODELAY);
    c = whole_connected(5);
    struct call call = shim_read_begins(5, false);
    EXPECT(call.conn == c && call.generation == c->generation && self.ends_watched);
    fds_set(9, FDS_OTHER);
    EXPECT(!shim_read_begins(9, false).conn && !shim_read_begins(77, false).conn);
    self.vforked = true;
    EXPECT(!shim_read_begins(5, false).conn);
    self.vforked = false;
    EXPECT(!call_is_stale(call));
    c->generation++;
    EXPECT(call_is_stale(call));
}

/* The application has tried to read: from then on the connection is none of a ring's. */
Test(shim_steps, a_read_that_brings_nothing) {
    whole_start_in(MODE_NODELAY);
    c = whole_connected(5);
    errno = EAGAIN;
    EXPECT_INT("nothing", shim_read_ends(shim_read_begins(5, true), -1, 10), -1);
    EXPECT(c->tried && errno == EAGAIN);
    c->tried = false;
    c->counts.reads = 1;
    shim_read_ends(shim_read_begins(5, true), -1, 10);
    EXPECT(!c->tried); /* it has read before */
    EXPECT_INT("depth", self.depth, 0);
}

/* A turn that was left without the lock ends with the read, with data, end or error. */
Test(shim_steps, a_turn_that_was_left) {
    static const ssize_t gots[] = {5, 0, -1};
    for (size_t i = 0; i < ARRAY_SIZE(gots); i++) {
        whole_start_in(MODE_AUTO);
        c = whole_connected(5);
        c->endpoint = 0;
        whole_write(5, "abc");
        struct call call = shim_read_begins(5, false);
        EXPECT(c->turn_end == TURN_LEFT && c->turn_owner == &self && !self.turn);
        errno = EAGAIN;
        EXPECT_INT("got", shim_read_ends(call, gots[i], 10), gots[i]);
        EXPECT(!c->turn_owner && c->policy.position == 0 && c->turn_end == TURN_ENDS);
        shim_closing(5);
    }
}

/* A failed read may end sending, and errno stays.  At the end of the stream errno is an older call's. */
Test(shim_steps, what_a_read_without_bytes_says) {
    static const struct {
        const char *name;
        ssize_t got;
        int error;
        bool established;
    } rows[] = {{"the end", 0, ECONNRESET, true},
                {"a reset", -1, ECONNRESET, false},
                {"nothing yet", -1, EAGAIN, true},
                {"a signal", -1, EINTR, true}};
    EACH_ROW(row, rows) {
        whole_start_in(MODE_AUTO);
        c = whole_connected(5);
        whole_write(5, "abc");
        whole_read(5, 10);
        struct call call = shim_read_begins(5, false);
        errno = row->error;
        EXPECT_INT(row->name, shim_read_ends(call, row->got, 10), row->got);
        EXPECT_INT(row->name, errno, row->error);
        EXPECT_INT(row->name, c->policy.established, row->established);
        shim_closing(5);
    }
}

/* The first input updates the endpoint, so that the next connection starts with it. */
Test(shim_steps, the_first_input_teaches) {
    whole_start_in(MODE_AUTO);
    c = whole_connected(5);
    c->policy.bursty = true;
    c->policy.model.ended[0] = 200;
    whole_read(5, 10);
    struct conn *next = whole_connected(6);
    EXPECT(next->policy.bursty && next->policy.from_cache && next->policy.model.ended[0] == 200);
}

/* ---- meetings ----------------------------------------------------------- */

/* A number of stdio on a known connection: its writes pass by from then on. */
Test(shim_steps, a_copy_on_a_number_of_stdio) {
    static const enum mode modes[] = {MODE_AUTO, MODE_OFF};
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        whole_start_in(modes[i]);
        c = whole_connected(5);
        fake_log();
        shim_duplicated(5, 7);
        EXPECT(!c->policy.untracked_io);
        shim_duplicated(5, 1);
        EXPECT(c->policy.untracked_io && c->refs == 3);
        EXPECT_TEXT("cured at once", fake_log(), modes[i] == MODE_AUTO ? "nodelay(5,1)" : "");
        shim_duplicated(5, 0);
        EXPECT_TEXT("once", fake_log(), "");
        shim_closing(5);
        shim_closing(7);
        shim_closing(1);
        shim_closing(0);
    }
}

static const struct {
    const char *name;
    int fd, protocol;
    uint64_t cookie;
    bool filter, ours, untracked, mptcp;
} meetings[] = {
    {"TCP", 20, IPPROTO_TCP, 5, false, true, false, false},
    {"TCP without a cookie", 20, IPPROTO_TCP, 0, false, true, false, false},
    {"MPTCP", 20, 262, 5, false, true, false, true},
    {"on a number of stdio", 0, IPPROTO_TCP, 5, false, true, true, false},
    {"UDP", 20, IPPROTO_UDP, 5, false, false, false, false},
    {"not under a filter", 20, IPPROTO_TCP, 5, true, false, false, false},
};

Test(shim_steps, how_a_connection_is_met) {
    EACH_ROW(row, meetings) {
        whole_start_in(MODE_AUTO);
        fds_forget(row->fd);
        fake.protocol = row->protocol;
        fake.cookie = row->cookie;
        if (row->filter)
            config_switch(MODE_AUTO, true);
        c = conn_lock_fd(row->fd);
        EXPECT_INT(row->name, c != NULL, row->ours);
        EXPECT_INT(row->name, self.depth, row->ours);
        if (!c)
            continue;
        EXPECT(c->policy.unsure == !row->untracked && c->origin == ORIGIN_FOREIGN &&
            c->cookie == row->cookie);
        EXPECT_INT(row->name, c->policy.untracked_io, row->untracked);
        EXPECT_INT(row->name, c->policy.mptcp, row->mptcp);
        EXPECT(c->filters_applied && c->epoch == config()->epoch && c->policy.mode == MODE_AUTO);
        conn_unlock(c);
        fds_forget(row->fd);
    }
}

/* ---- cured when they are made ------------------------------------------- */

static const struct {
    const char *name;
    const char *mode, *nodelay;
    bool ring, untracked, ours, cork, filter, set;
} makings[] = {
    {"nothing", "UNSTALL_MODE=auto", "UNSTALL_NODELAY=late", false, false, false, false, false, false},
    {"always", "UNSTALL_MODE=auto", "UNSTALL_NODELAY=always", false, false, false, false, false, true},
    {"a ring", "UNSTALL_MODE=auto", "UNSTALL_NODELAY=late", true, false, false, false, false, true},
    {"stdio", "UNSTALL_MODE=auto", "UNSTALL_NODELAY=late", false, true, false, false, false, true},
    {"it is set", "UNSTALL_MODE=auto", "UNSTALL_NODELAY=always", false, false, true, false, false, false},
    {"the application's cork", "UNSTALL_MODE=auto", "UNSTALL_NODELAY=always", false, false, false, true,
     false, false},
    {"a filter", "UNSTALL_MODE=auto", "UNSTALL_NODELAY=always", false, false, false, false, true, false},
    {"observe", "UNSTALL_MODE=observe", "UNSTALL_NODELAY=always", false, false, false, false, false, false},
};

Test(shim_steps, what_is_cured_when_it_is_made) {
    EACH_ROW(row, makings) {
        whole_start((const char *const[]){row->mode, row->nodelay, NULL});
        c = fds_create(5, ORIGIN_SOCKET);
        c->policy.established = true;
        c->policy.untracked_io = row->untracked;
        c->policy.nodelay = row->ours;
        c->policy.app_cork = row->cork;
        rings_known = row->ring;
        if (row->filter)
            config_switch(MODE_AUTO, true);
        fake_log();
        shim_nodelay_at_creation(c);
        EXPECT_TEXT(row->name, fake_log(), row->set ? "nodelay(5,1)" : "");
        conn_unlock(c);
        rings_known = false;
        fds_forget(5);
    }
}

/* ---- moved bodies ------------------------------------------------------- */

/* A read for the same connection keeps its turn open; a read of another one ends it. */
Test(shim_steps, a_moved_body_and_turns) {
    struct call call;
    whole_start_in(MODE_CORK);
    c = whole_connected(5);
    whole_connected(6);
    whole_write(5, "head");
    EXPECT(shim_bulk_begins(5, 0, false, &call) == BULK_GOES);
    EXPECT(c->held && self.turn == c && call.conn == c && call.generation == c->generation);
    EXPECT_INT("position", c->policy.position, 2);
    shim_bulk_ended(call, 5, 1, 100, true, 0);
    EXPECT(c->held);
    shim_bulk_ended(call, 5, 1, 100, false, 0);
    EXPECT(!c->held);
    whole_write(5, "head");
    EXPECT(shim_bulk_begins(6, 0, false, &call) == BULK_GOES);
    EXPECT(!c->held && self.turn == known(6));
    EXPECT_INT("depth", self.depth, 0);
}

/* Another thread sends from the buffer: a call that must not wait fails, unless there is room. */
Test(shim_steps, a_moved_body_beside_who_drains) {
    struct call call;
    whole_start_in(MODE_COALESCE);
    c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    c->draining = true;
    fake.full = true;
    EXPECT(shim_bulk_begins(5, MSG_DONTWAIT, false, &call) == BULK_FAILS);
    EXPECT_INT("errno", errno, EAGAIN);
    EXPECT_INT("still there", buffer_length(c), 3);
    EXPECT_INT("depth", self.depth, 0);
    c->draining = false;
    EXPECT(shim_bulk_begins(5, MSG_DONTWAIT, false, &call) == BULK_GOES);
    EXPECT_INT("gone", buffer_length(c), 0);
    EXPECT(c->held);
}
