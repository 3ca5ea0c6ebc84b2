/* SPDX-License-Identifier: MIT
 *
 * The creation of connections: the facts that the library has when they write first.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coalesce_buffer.h"
#include "turn.h"
#include "log.h"
#include "process.h"
#include "shim.h"
#include "whole.h"

/* A write before the connection is there is the kernel's to refuse: buffered, it would
 * be accepted here, refused later, and written again. */
Test(shim_life, while_the_connect_is_under_way_nothing_is_buffered) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
    whole_start_in(MODE_COALESCE);
    shim_socket_made(5, AF_INET, SOCK_STREAM, 0);
    struct call call = shim_connect_begins(5);
    shim_connect_ended(call, -1, EINPROGRESS, (struct sockaddr *)&to, sizeof(to));
    fake_log();
    fake_real.answers[0] = fake_real.answers[1] = -EAGAIN;
    for (int i = 0; i < 2; i++) {
        EXPECT_INT("refused", whole_write(5, "hello"), -1);
        EXPECT_INT("errno", errno, EAGAIN);
        EXPECT_TEXT("by the kernel", fake_log(), "WRITE(5,hello)");
    }
    EXPECT_INT("it is there now", whole_write(5, "hello"), 5);
    whole_read(5, 100);
    fake_log();
    EXPECT_INT("from now on it may", whole_write(5, "world"), 5);
    EXPECT_TEXT("buffered", fake.wire_buffer, "hello");
}

/* Accepted sockets inherit their listener's options at the handshake, not its present ones. */
#define ASKED "nodelay?(6) cork?(6) ulp?(6) stamps?(6) zerocopy?(6) unsent?(6) mss(6) "
static const struct {
    const char *name;
    bool cork, nodelay; /* the listener's now */
    int found_cork, found_nodelay;
    const char *log;
} inherited[] = {
    {"none", false, false, 0, 0, "WRITE(6,head) nodelay(6,1) WRITE(6,body)"},
    {"TCP_CORK, set later", true, false, 0, 0, "WRITE(6,head) " ASKED "nodelay(6,1) WRITE(6,body)"},
    {"TCP_CORK, set before", true, false, 1, 0, "WRITE(6,head) " ASKED "WRITE(6,body)"},
    {"TCP_NODELAY, set later", false, true, 0, 0,
     "WRITE(6,head) " ASKED "nodelay(6,1) WRITE(6,body)"},
    {"TCP_NODELAY, set before", false, true, 0, 1, "WRITE(6,head) " ASKED "WRITE(6,body)"},
};

Test(shim_life, an_accepted_one_is_asked_what_it_inherited) {
    EACH_ROW(row, inherited) {
        int on = 1, listener = 10 + (int)(row - inherited); /* each teaches its own alone */
        whole_start_in(MODE_AUTO);
        shim_socket_made(listener, AF_INET, SOCK_STREAM, 0);
        shim_listens(listener);
        if (row->cork)
            shim_option_set(listener, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
        if (row->nodelay)
            shim_option_set(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        fake.cork = row->found_cork;
        fake.nodelay = row->found_nodelay;
        shim_accepted(listener, 6);
        whole_read(6, 100);
        whole_write(6, "head");
        whole_write(6, "body");
        EXPECT_TEXT(row->name, fake_log(), row->log);
        shim_closing(6);
    }
}

/* UNSTALL_PORTS names the port of the server's side, also where we are the client. A connection met late may
 * be of either side. */
enum origin_seen { CONNECTED, ACCEPTED, INHERITED };
static const struct {
    const char *name;
    enum origin_seen origin;
    uint16_t peer, local;
    bool included;
} filters[] = {
    {"a client of the port", CONNECTED, 80, 5000, true},
    {"a client from the port", CONNECTED, 5000, 80, false},
    {"a server's, on the port", ACCEPTED, 5000, 80, true},
    {"a server's, its client from the port", ACCEPTED, 80, 5000, false},
    {"inherited, a client of the port", INHERITED, 80, 5000, true},
    {"inherited, a server's", INHERITED, 5000, 80, true},
    {"inherited, of other ports", INHERITED, 5000, 5001, false},
};

static void created_as(enum origin_seen origin) {
    if (origin == CONNECTED)
        whole_connected(6);
    if (origin != ACCEPTED)
        return; /* an inherited descriptor is met at its first use */
    shim_socket_made(3, AF_INET, SOCK_STREAM, 0);
    shim_listens(3);
    shim_accepted(3, 6);
}

Test(shim_life, ports_are_the_servers) {
    EACH_ROW(row, filters) {
        whole_start((const char *const[]){"UNSTALL_MODE=nodelay", "UNSTALL_PORTS=80", NULL});
        fake.protocol = IPPROTO_TCP;
        fake.peer_port = row->peer;
        fake.local_port = row->local;
        fds_forget(6);
        created_as(row->origin);
        struct conn *c = conn_lock_fd(6);
        ASSERT(c);
        EXPECT_INT(row->name, c->policy.mode, row->included ? MODE_NODELAY : MODE_OFF);
        conn_unlock(c);
        shim_closing(6);
        shim_closing(3);
    }
}

/* An option by which the application tells its writes apart forbids holds on its connection; set on a
 * listener, on all connections accepted from then on. */
static const struct {
    const char *name;
    int level, option, value;
    bool never_hold;
} apart[] = {
    {"none", SOL_SOCKET, SO_KEEPALIVE, 1, false},
    {"SO_TIMESTAMPING", SOL_SOCKET, SO_TIMESTAMPING, 2, true},
    {"SO_TIMESTAMPING, off", SOL_SOCKET, SO_TIMESTAMPING, 0, false},
    {"SO_ZEROCOPY", SOL_SOCKET, SO_ZEROCOPY, 1, true},
    {"SO_TXTIME", SOL_SOCKET, SO_TXTIME, 0, true},
    {"TCP_NOTSENT_LOWAT", IPPROTO_TCP, TCP_NOTSENT_LOWAT, 16384, true},
    {"TCP_NOTSENT_LOWAT, without limit", IPPROTO_TCP, TCP_NOTSENT_LOWAT, -1, false},
};

Test(shim_life, writes_that_are_told_apart_are_never_held) {
    EACH_ROW(row, apart) {
        for (int accepted = 0; accepted <= 1; accepted++) {
            whole_start_in(MODE_CORK);
            if (accepted) {
                shim_socket_made(3, AF_INET, SOCK_STREAM, 0);
                shim_listens(3);
            } else {
                whole_connected(6);
            }
            shim_option_set(accepted ? 3 : 6, row->level, row->option, &row->value, sizeof(row->value));
            if (accepted)
                shim_accepted(3, 6);
            struct conn *c = conn_lock_fd(6);
            ASSERT(c);
            EXPECT_INT(row->name, c->policy.never_hold, row->never_hold);
            conn_unlock(c);
            whole_write(6, "head");
            cr_expect(c->held != row->never_hold, "%s, accepted %d", row->name, accepted);
            shim_closing(6);
            shim_closing(3);
        }
    }
}

/* ---- kinds -------------------------------------------------------------------- */

static const struct {
    const char *name;
    int domain, type, protocol;
    bool ours, no_more;
} kinds[] = {
    {"TCP", AF_INET, SOCK_STREAM, 0, true, false},
    {"TCP over IPv6", AF_INET6, SOCK_STREAM, IPPROTO_TCP, true, false},
    {"with flags", AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, true, false},
    {"MPTCP", AF_INET, SOCK_STREAM, 262, true, true},
    {"SCTP", AF_INET, SOCK_STREAM, IPPROTO_SCTP, false, false},
    {"UDP", AF_INET, SOCK_DGRAM, 0, false, false},
    {"a Unix socket", AF_UNIX, SOCK_STREAM, 0, false, false},
};

Test(shim_life, kinds_of_sockets) {
    EACH_ROW(row, kinds) {
        whole_start_in(MODE_AUTO);
        whole_connected(6); /* the descriptor's earlier socket, its close unseen */
        shim_socket_made(6, row->domain, row->type, row->protocol);
        const struct conn *c = fds_conn(fds_word(6));
        EXPECT_INT(row->name, c != NULL, row->ours);
        EXPECT_INT(row->name, c && c->policy.mptcp, row->no_more);
        if (!c)
            EXPECT_INT(row->name, fds_word(6), FDS_OTHER);
        shim_socket_made(-1, row->domain, row->type, row->protocol);
        EXPECT_INT(row->name, self.depth, 0);
    }
}

Test(shim_life, accepted_of_what_is_no_listener_of_ours) {
    whole_start_in(MODE_AUTO);
    whole_connected(6);
    fds_set(3, FDS_OTHER);
    shim_accepted(3, 6);
    EXPECT_INT("of another family as its listener", fds_word(6), FDS_OTHER);
    shim_accepted(88, 6);
    EXPECT_INT("of an unknown one", fds_word(6), FDS_UNKNOWN);
    shim_accepted(88, -1);
    EXPECT_INT("depth", self.depth, 0);
}

/* ---- cured from creation --------------------------------------------------------- */

Test(shim_life, cured_from_creation) {
    static const struct {
        const char *name, *mode, *nodelay;
        bool cured;
    } rows[] = {
        {"always", "UNSTALL_MODE=auto", "UNSTALL_NODELAY=always", true},
        {"late", "UNSTALL_MODE=auto", "UNSTALL_NODELAY=late", false},
        {"always, but off", "UNSTALL_MODE=off", "UNSTALL_NODELAY=always", false},
    };
    EACH_ROW(row, rows) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
        whole_start((const char *const[]){row->mode, row->nodelay, NULL});
        shim_socket_made(6, AF_INET, SOCK_STREAM, 0);
        struct call call = shim_connect_begins(6);
        shim_connect_ended(call, 0, 0, (struct sockaddr *)&to, sizeof(to));
        EXPECT_TEXT(row->name, fake_log(), row->cured ? "nodelay(6,1)" : "");
        shim_closing(6);
    }
}

/* io_uring: existing connections are cured; listeners and unfinished connections are not. */
Test(shim_life, with_io_uring_all_are_cured) {
    whole_start_in(MODE_AUTO);
    whole_connected(5);
    shim_socket_made(3, AF_INET, SOCK_STREAM, 0);
    shim_listens(3);
    shim_socket_made(4, AF_INET, SOCK_STREAM, 0);
    fake_log();
    shim_uring();
    EXPECT_TEXT("there", fake_log(), "nodelay(5,1)");
    shim_accepted(3, 6);
    EXPECT_TEXT("and to come", fake_log(), "nodelay(6,1)");
}

/* ---- connecting ------------------------------------------------------------------- */

Test(shim_life, a_connect_that_fails_tells_nothing) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
    whole_start_in(MODE_CORK);
    shim_socket_made(5, AF_INET, SOCK_STREAM, 0);
    struct call call = shim_connect_begins(5);
    shim_connect_ended(call, -1, ECONNREFUSED, (struct sockaddr *)&to, sizeof(to));
    EXPECT(!call.conn->policy.established && call.conn->endpoint == 0);
    EXPECT_INT("depth", self.depth, 0);
    call = shim_connect_begins(5);
    shim_closing(5); /* by another thread, while it is under way; the new one gets its number and its place */
    shim_socket_made(5, AF_INET, SOCK_STREAM, 0);
    ASSERT(fds_conn(fds_word(5)) == call.conn);
    shim_connect_ended(call, 0, 0, (struct sockaddr *)&to, sizeof(to));
    EXPECT(!call.conn->policy.established);
    EXPECT_INT("depth", self.depth, 0);
}

Test(shim_life, what_is_held_leaves_before_a_connect) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    shim_socket_made(6, AF_INET, SOCK_STREAM, 0);
    whole_write(5, "abc");
    ASSERT(c->held);
    shim_connect_begins(6);
    EXPECT(!c->held && self.turn == NULL);
}

/* ---- ends -------------------------------------------------------------------------- */

Test(shim_life, shutdown) {
    static const struct {
        const char *name;
        int how;
        bool ends;
    } rows[] = {{"for reading", SHUT_RD, false}, {"for writing", SHUT_WR, true}, {"both", SHUT_RDWR, true}};
    EACH_ROW(row, rows) {
        whole_start_in(MODE_COALESCE);
        struct conn *c = whole_warm(5);
        EXPECT_INT("buffered", whole_write(5, "abc"), 3);
        fake.sends[fake.send_count] = -EAGAIN; /* at the turn's end */
        shim_shuts(5, row->how);
        EXPECT_INT(row->name, buffer_length(c) == 0, row->ends);
        EXPECT_INT(row->name, c->policy.refuses, row->ends);
        EXPECT_INT(row->name, self.depth, 0);
        shim_closing(5);
    }
}

Test(shim_life, a_close_lets_go_and_forgets) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    shim_duplicated(5, 9);
    EXPECT_INT("two numbers", c->refs, 2);
    shim_closing(9);
    EXPECT(!c->held && c->refs == 1 && fds_word(9) == FDS_UNKNOWN);
    fds_set(9, FDS_OTHER);
    shim_duplicated(9, 10);
    EXPECT_INT("a copy is what it is a copy of", fds_word(10), FDS_OTHER);
    shim_duplicated(88, 10);
    EXPECT_INT("also where nothing is known", fds_word(10), FDS_UNKNOWN);
    shim_duplicated(5, 5);
    shim_duplicated(5, -1);
    EXPECT_INT("not copies", c->refs, 1);
    shim_closing(9);
    EXPECT_INT("forgotten", fds_word(9), FDS_UNKNOWN);
    whole_connected(6);
    whole_connected(7);
    shim_closing_range(5, 6);
    EXPECT(fds_word(5) == FDS_UNKNOWN && fds_word(6) == FDS_UNKNOWN && fds_conn(fds_word(7)));
    shim_closing_range(7, ~0u);
    EXPECT_INT("all", fds_word(7), FDS_UNKNOWN);
    EXPECT_INT("depth", self.depth, 0);
}

/* The last number is closed while the kernel has no room: a number of our own goes on. */
Test(shim_life, buffered_bytes_outlive_a_close) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    for (unsigned i = 0; i < 3; i++)
        fake.sends[fake.send_count + i] = -EAGAIN;
    shim_closing(5);
    EXPECT(c->lingering && buffer_length(c) == 3 && strstr(fake_log(), "dup(5)"));
    EXPECT_INT("its number is free", fds_word(5), FDS_UNKNOWN);
    EXPECT(fds_conn(fds_word(c->fd)) == c);
    EXPECT_INT("depth", self.depth, 0);
}

/* Without a descriptor of our own, or without a place for it in the table, the close waits for room and
 * sends the bytes itself.  Once it dropped them where the table had no place. */
Test(shim_life, a_close_that_cannot_linger_sends) {
    static const struct {
        const char *name;
        int own;
    } rows[] = {{"no descriptor", -EMFILE}, {"above the table", FDS_LIMIT}};
    EACH_ROW(row, rows) {
        whole_start_in(MODE_COALESCE);
        whole_warm(5);
        EXPECT_INT("buffered", whole_write(5, "abc"), 3);
        for (unsigned i = 0; i < 3; i++)
            fake.sends[fake.send_count + i] = -EAGAIN;
        fake.dup_answer = row->own;
        fake_log();
        shim_closing(5);
        const char *log = fake_log();
        const char *dup = strstr(log, "dup(5)");
        cr_expect(dup && strstr(dup, "send(5,abc)"), "%s: %s", row->name, log);
        cr_expect(!strstr(log, "close(") == (row->own < 0), "%s: %s", row->name, log);
        EXPECT_INT("its number is free", fds_word(5), FDS_UNKNOWN);
        EXPECT_INT("depth", self.depth, 0);
    }
}

/* dup2 closes the socket of the new number, unless dup2 is about to fail. */
Test(shim_life, dup2_closes_what_stood_there) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_connected(6);
    whole_write(5, "abc");
    shim_replacing(5, 5);
    cr_expect(c->held, "onto itself: nothing");
    shim_replacing(5, 6);
    EXPECT(!c->held);
    EXPECT_INT("closed", fds_word(6), FDS_UNKNOWN);
    fds_set(9, FDS_FILE);
    whole_write(5, "abc");
    ASSERT(c->held);
    shim_replacing(5, 9);
    cr_expect(!c->held, "also where a file stood");
}

Test(shim_life, stdio_takes_a_number) {
    whole_start_in(MODE_AUTO);
    struct conn *c = whole_connected(5);
    shim_untrack(5);
    EXPECT_TEXT("cured at once", fake_log(), "nodelay(5,1)");
    EXPECT(c->policy.untracked_io);
    whole_read(5, 10);
    whole_write(5, "head");
    whole_write(5, "body");
    EXPECT_TEXT("and never held", fake_log(), "WRITE(5,head) WRITE(5,body)");
    shim_untrack(-1);
    EXPECT_INT("depth", self.depth, 0);
}

/* An accepted connection takes over its listener's properties. */
Test(shim_life, accepted_over_mptcp) {
    whole_start_in(MODE_CORK);
    shim_socket_made(3, AF_INET, SOCK_STREAM, 262);
    shim_listens(3);
    shim_accepted(3, 6);
    const struct conn *c = fds_conn(fds_word(6));
    EXPECT(c && c->policy.mptcp);
}

/* ---- calls that must change nothing ------------------------------------- */

/* Each entry of the library, on a connection that holds bytes. */
static void call_all(int fd) {
    int on = 1;
    socklen_t length = sizeof(on);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
    shim_socket_made(fd, AF_INET, SOCK_STREAM, 0);
    shim_socket_made(fd, AF_INET, SOCK_DGRAM, 0);
    shim_accepted(3, fd);
    EXPECT(!shim_connect_begins(fd).conn);
    shim_connect_ended((struct call){0}, 0, 0, (struct sockaddr *)&to, sizeof(to));
    shim_listens(fd);
    shim_shuts(fd, SHUT_RDWR);
    shim_option_setting(fd, IPPROTO_TCP, TCP_NODELAY);
    shim_option_set(fd, IPPROTO_TCP, TCP_NODELAY, &on, length);
    shim_option_got(fd, IPPROTO_TCP, TCP_NODELAY, &on, length);
    EXPECT_INT("the kernel's", on, 1);
    shim_other_write(fd);
    EXPECT(!shim_read_begins(fd, false).conn);
    shim_duplicated(fd, 9);
    shim_duplicated(9, fd);
    shim_replacing(9, fd);
    shim_untrack(fd);
    shim_closing(fd);
    shim_closing_range(0, 100);
}

static void call_of_process(void) {
    process_runs_program();
    process_forks();
    process_is_replaced(NULL);
    process_is_replaced_by("true");
    process_is_replaced_at(-1, "/bin/true");
    exec_failed(0);
    process_filters(false);
    process_filtered(false);
    process_unshares_table();
    process_ends();
    EXPECT_INT("no right", rights_change(SYS_setuid, 0), 0);
    rights_changed(0);
}

static void expect_no_change(const char *name) {
    uintptr_t word = fds_word(5);
    struct conn *c = fds_conn(word), before = *c;
    call_all(5);
    call_of_process();
    EXPECT_TEXT(name, fake_log(), "");
    EXPECT_INT(name, fds_word(5), word);
    EXPECT_INT(name, fds_word(9), FDS_UNKNOWN);
    cr_expect(memcmp(&before, c, sizeof(before)) == 0, "%s: the connection has changed", name);
    EXPECT(!hold_refused && self.turn == c && config()->mode == MODE_CORK);
}

/* The child of a vfork runs on its parent's memory. */
Test(shim_life, in_a_vfork_child) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_warm(5);
    whole_write(5, "held");
    fake_log();
    self.vforked = true;
    c->given = true; /* the one thing that it changes: see the next test */
    expect_no_change("in the child");
    self.vforked = false;
    shim_closing(5); /* the check above can fail */
    EXPECT_INT("in the parent", fds_word(5), FDS_UNKNOWN);
}

/* In coalesce the parent's bytes came behind those of the program that the child became. */
Test(shim_life, a_vfork_child_copies_it) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    self.vforked = true;
    shim_duplicated(5, -1);
    EXPECT(!c->given);
    shim_duplicated(5, 9);
    EXPECT(c->given);
    self.vforked = false;
    fake_log();
    EXPECT_INT("held in the kernel", whole_write(5, "abc"), 3);
    EXPECT_TEXT("not in a buffer", fake_log(), "SEND_MORE(5,abc)");
}

/* A handler that has interrupted the library inside the lock of the connection: what it does is made up for
 * at the unlock. */
Test(shim_life, inside_its_lock) {
    int on = 1;
    whole_start_in(MODE_CORK);
    struct conn *c = whole_warm(5);
    whole_write(5, "held");
    fake_log();
    ASSERT(conn_lock(c));
    in_handler();
    shim_option_set(5, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    EXPECT(!c->policy.app_nodelay);
    conn_unlock(c);
    EXPECT(c->policy.app_nodelay && c->aside == 0);
    ASSERT(conn_lock(c));
    in_handler();
    shim_duplicated(5, 9);
    shim_closing(5);
    EXPECT_INT("its number", fds_word(5), FDS_UNKNOWN);
    EXPECT_INT("it has no descriptor", c->fd, -1);
    EXPECT_INT("but is in use", c->refs, 1);
    conn_unlock(c);
    EXPECT_INT("now it is not", c->refs, 0);
    EXPECT_TEXT("by no call", fake_log(), "");
}

/* Inside another connection's lock. */
Test(shim_life, inside_another_lock) {
    int on = 1;
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5), *other = whole_warm(6);
    whole_write(5, "kept");
    hold_end_turn(PUSH_WAIT);
    whole_write(5, "kept, too");
    fake_log();
    ASSERT(conn_lock(other));
    in_handler();
    shim_option_set(5, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    EXPECT(c->policy.app_nodelay);
    shim_closing(5);
    EXPECT(self.locked == other && lock_is_mine(&other->lock));
    EXPECT_INT("its number", fds_word(5), FDS_UNKNOWN);
    EXPECT_INT("not in use", c->refs, 0);
    conn_unlock(other);
    EXPECT_TEXT("its bytes", fake_log(), "send(5,kept, too)");
}

Test(shim_life, of_a_call_that_failed) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_warm(5);
    whole_write(5, "held");
    fake_log();
    shim_socket_made(-1, AF_INET, SOCK_STREAM, 0);
    shim_untrack(-1);
    shim_duplicated(5, -1);
    shim_duplicated(5, 5);
    shim_replacing(5, 5);
    EXPECT_TEXT("nothing", fake_log(), "");
    EXPECT(c->held && c->refs == 1);
}

Test(shim_life, a_range_of_unknown_numbers_ends_the_turn) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_warm(5);
    whole_write(5, "held");
    shim_closing_range(900, 1000); /* a pipe's end is among them, perhaps */
    EXPECT(!c->held && fds_conn(fds_word(5)) == c);
}

/* ---- descriptor 2 ------------------------------------------------------- */

static int log_file;

static bool is_logged(void) {
    ASSERT(ftruncate(log_file, 0) == 0);
    log_line("word");
    return lseek(log_file, 0, SEEK_END) > 0;
}

/* Its number may be another file's after a close: nothing of ours goes there. */
Test(shim_life, the_log_goes_to_stderr_alone) {
    int before = dup(STDERR_FILENO);
    log_file = memfd_create("log", 0);
    ASSERT(before >= 0 && log_file >= 0 && dup2(log_file, STDERR_FILENO) == STDERR_FILENO);
    whole_start_in(MODE_AUTO);
    EXPECT(is_logged());
    shim_closing(7);
    EXPECT(is_logged());
    shim_closing(STDERR_FILENO);
    EXPECT(!is_logged());
    shim_duplicated(6, 7);
    EXPECT(!is_logged());
    shim_duplicated(6, STDERR_FILENO);
    EXPECT(is_logged());
    fake.protocol = 0; /* no answer: -EINVAL */
    fds_forget(STDERR_FILENO);
    EXPECT(!conn_lock_fd(STDERR_FILENO));
    EXPECT(is_logged());
    fake.protocol = -EBADF;
    EXPECT(!conn_lock_fd(8));
    EXPECT(is_logged());
    EXPECT(!conn_lock_fd(STDERR_FILENO));
    EXPECT(!is_logged());
    dup2(before, STDERR_FILENO);
}

/* ---- rings --------------------------------------------------------------- */

Test(shim_life, what_suspects_a_ring) {
    whole_start_in(MODE_AUTO);
    struct conn *c = whole_connected(5), plain = *c;
    EXPECT(rings_are_suspected(c));
#define NOT_IF(field, value)                                    \
    do {                                                        \
        c->field = (value);                                     \
        cr_expect(!rings_are_suspected(c), "%s", #field);       \
        *c = plain;                                             \
    } while (0)
    NOT_IF(policy.established, false);
    NOT_IF(listener, true);
    NOT_IF(policy.untracked_io, true);
    NOT_IF(tried, true);
    NOT_IF(counts.writes, 1);
    NOT_IF(counts.reads, 1);
    NOT_IF(passed, true);
    NOT_IF(shared, true);
    NOT_IF(forks, (__typeof__(c->forks))(c->forks + 1));
#undef NOT_IF
}

Test(shim_life, a_stream_on_a_connection_or_on_something_else) {
    whole_start_in(MODE_NODELAY);
    struct conn *c = whole_connected(0);
    shim_untrack(0);
    EXPECT(c->policy.untracked_io);
    fake.protocol = IPPROTO_UDP;
    shim_untrack(50);
    EXPECT_INT("known as another kind", fds_word(50), FDS_OTHER);
}

Test(shim_life, a_long_line_of_the_log_ends_as_a_line) {
    static char text[4096];
    int before = dup(STDERR_FILENO);
    log_file = memfd_create("log", 0);
    ASSERT(before >= 0 && log_file >= 0 && dup2(log_file, STDERR_FILENO) == STDERR_FILENO);
    memset(text, 'x', 1500);
    log_line("%s", text);
    dup2(before, STDERR_FILENO);
    ssize_t n = pread(log_file, text, sizeof(text), 0);
    EXPECT_INT("cut", n, 1023);
    EXPECT(strncmp(text, "unstall: xx", 11) == 0 && text[n - 1] == '\n' && text[n - 2] == 'x');
}

/* The kernel refuses such a message; its pointers are not followed. */
Test(shim_life, a_control_message_that_says_it_is_longer) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = "";
    struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *h = CMSG_FIRSTHDR(&message);
    int fd = 5;
    whole_start_in(MODE_CORK);
    struct conn *c = whole_warm(5);
    *h = (struct cmsghdr){CMSG_LEN(sizeof(int)) + 1000, SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(h), &fd, sizeof(fd));
    shim_descriptors_leave(&message);
    EXPECT(!c->passed);
    h->cmsg_len = CMSG_LEN(sizeof(int));
    shim_descriptors_leave(&message);
    EXPECT(c->passed);
}

/* A quarter of SO_SNDBUF, and never zero. */
Test(shim_life, how_much_is_buffered) {
    static const struct {
        const char *name;
        int room;
        unsigned limit;
    } rooms[] = {{"a small one", 4000, 1001}, {"a large one", 1 << 20, BUFFER_MOST}, {"unknown", 0, 1}};
    EACH_ROW(row, rooms) {
        int fd = 5 + (int)(row - rooms);
        whole_start_in(MODE_COALESCE);
        fake.room = row->room;
        struct conn *c = whole_connected(fd);
        whole_write(fd, "data");
        EXPECT_INT(row->name, c->policy.buffer_limit, row->limit);
    }
}
