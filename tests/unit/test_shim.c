/* SPDX-License-Identifier: MIT
 *
 * Calls that neither write nor create a descriptor: reads, options, calls that move bytes by themselves,
 * descriptors inside messages.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include "config.h"
#include "coalesce_buffer.h"
#include "turn.h"
#include "whole.h"

/* ---- reads ------------------------------------------------------------------- */

static ssize_t read_gives(int fd, ssize_t got, int error) {
    struct call call = shim_read_begins(fd, true);
    errno = error;
    return shim_read_ends(call, got, 8192);
}

static const struct {
    const char *name;
    int kept;
    ssize_t got;
    int error;
    ssize_t answer;
    int told;
    bool refuses;
} nothings[] = {
    {"the end", 0, 0, 4711, 0, 4711, false},
    {"nothing yet", 0, -1, EAGAIN, -1, EAGAIN, false},
    {"a signal", 0, -1, EINTR, -1, EINTR, false},
    {"a reset: the next write must not seem to succeed", 0, -1, ECONNRESET, -1, ECONNRESET, true},
    {"a mistake of the caller's", 0, -1, EFAULT, -1, EFAULT, false},
    {"an error that we have kept, at the end", ECONNRESET, 0, 0, -1, ECONNRESET, false},
    {"an error that we have kept, before nothing", ETIMEDOUT, -1, EAGAIN, -1, ETIMEDOUT, false},
    {"EPIPE is a writer's", EPIPE, 0, 4711, 0, 4711, false},
};

Test(shim, reads_that_bring_nothing) {
    EACH_ROW(row, nothings) {
        whole_start_in(MODE_COALESCE);
        struct conn *c = whole_connected(5);
        c->pending_error = row->kept;
        EXPECT_INT(row->name, read_gives(5, row->got, row->error), row->answer);
        EXPECT_INT(row->name, errno, row->told);
        EXPECT_INT(row->name, c->policy.refuses, row->refuses);
        EXPECT_INT(row->name, c->pending_error, row->kept == EPIPE ? EPIPE : 0);
        EXPECT_INT(row->name, c->counts.reads, 0);
        EXPECT_INT(row->name, self.depth, 0);
        shim_closing(5);
    }
}

Test(shim, a_read_tells_of_input) {
    whole_start_in(MODE_NODELAY);
    struct conn *c = whole_connected(5);
    whole_write(5, "head");
    EXPECT(!c->policy.input_ever && c->policy.message_bytes == 4);
    EXPECT_INT("read", read_gives(5, 100, 0), 100);
    EXPECT(c->policy.input_ever && c->policy.message_bytes == 0 && !c->policy.input_pending);
    EXPECT_INT("counted", c->counts.reads, 1);
    EXPECT_INT("full", read_gives(5, 8192, 0), 8192);
    EXPECT(c->policy.input_pending);
    EXPECT_INT("none of ours", read_gives(77, 3, 0), 3);
}

static void close_and_connect_again(void) {
    shim_closing(5);
    whole_connected(5);
}

/* Another thread closes the connection while this one is blocked reading it, and its place is
 * another's by then: nothing of the read is told of that. */
Test(shim, a_read_of_one_that_is_closed_tells_nothing) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_connected(5);
    struct call read = shim_read_begins(5, true);
    close_and_connect_again();
    ASSERT(fds_conn(fds_word(5)) == c);
    EXPECT_INT("input", shim_read_ends(read, 10, 100), 10);
    EXPECT(!c->policy.input_ever);
    errno = ECONNRESET;
    EXPECT_INT("an error", shim_read_ends(read, -1, 100), -1);
    EXPECT(!c->policy.refuses);
    c->pending_error = ECONNRESET;
    EXPECT_INT("an error of ours", shim_read_ends(read, 0, 100), 0);
    EXPECT_INT("the new one's", c->pending_error, ECONNRESET);
}

/* A blocking read ends the turn: held bytes leave before it. */
static const struct {
    const char *name;
    int fd;
    bool dont_wait, ends;
} reads[] = {
    {"its own connection", 5, false, true},   {"... if it waits", 5, true, false},
    {"another connection", 6, false, true},   {"another, without waiting", 6, true, false},
    {"a pipe", 7, false, true},               {"a file", 8, false, false},
};

Test(shim, reads_end_the_turn_if_they_may_wait) {
    EACH_ROW(row, reads) {
        whole_start_in(MODE_CORK);
        struct conn *c = whole_connected(5);
        whole_connected(6);
        fds_set(7, FDS_OTHER);
        fds_set(8, FDS_FILE);
        EXPECT_INT("held", whole_write(5, "abc"), 3);
        ASSERT(c->held);
        fake_log();
        shim_read_ends(shim_read_begins(row->fd, row->dont_wait), 10, 100);
        EXPECT_INT(row->name, !c->held, row->ends);
        EXPECT_INT(row->name, strstr(fake_log(), "nodelay(5,1)") != NULL, row->ends);
        hold_end_turn(PUSH_WAIT);
        shim_closing(5);
        shim_closing(6);
    }
}

/* Is it a file?  Asked once a descriptor, and only where a turn would stay whole. */
Test(shim, what_a_descriptor_is_is_asked_once) {
    whole_start_in(MODE_CORK);
    whole_connected(5);
    fake.protocol = 0; /* no socket */
    fds_set(9, FDS_NO_SOCKET);
    shim_other_write(9);
    EXPECT_TEXT("no turn: no matter", fake_log(), "");
    whole_write(5, "abc");
    fake_log();
    shim_other_write(9);
    EXPECT_TEXT("asked", fake_log(), "stat(9) nodelay(5,1) info(5)");
    EXPECT_INT("no file", fds_word(9), FDS_OTHER);
    whole_write(5, "abc");
    fake_log();
    shim_other_write(9);
    const char *log = fake_log();
    cr_expect(strstr(log, "nodelay(5,1)") && !strstr(log, "stat"), "%s", log);
}

/* ---- first sight --------------------------------------------------------------- */

Test(shim, first_sight) {
    whole_start_in(MODE_AUTO);
    fake.protocol = IPPROTO_UDP;
    EXPECT(conn_lock_fd(20) == NULL);
    EXPECT_INT("another kind", fds_word(20), FDS_OTHER);
    fake.protocol = 0; /* an error */
    EXPECT(conn_lock_fd(21) == NULL);
    EXPECT_INT("not known", fds_word(21), FDS_UNKNOWN);
    fake.protocol = IPPROTO_TCP; /* ... or NETLINK_XFRM, or that of a raw socket */
    fake.type = SOCK_RAW;
    EXPECT(conn_lock_fd(25) == NULL);
    EXPECT_INT("not TCP", fds_word(25), FDS_OTHER);
    fake.type = SOCK_STREAM;
    struct conn *c = conn_lock_fd(22);
    ASSERT(c);
    EXPECT(c->policy.unsure && !c->policy.mptcp && c->cookie == 77 && c->origin == ORIGIN_FOREIGN);
    conn_unlock(c);
    EXPECT(conn_lock_fd(23) == c); /* the same cookie: a copy */
    EXPECT_INT("two numbers", c->refs, 2);
    conn_unlock(c);
    fake.cookie = 78;
    fake.protocol = 262; /* MPTCP */
    c = conn_lock_fd(24);
    ASSERT(c);
    EXPECT(c->policy.mptcp && c->cookie == 78);
    conn_unlock(c);
    EXPECT(conn_lock_fd(-1) == NULL && conn_lock_fd(FDS_LIMIT) == NULL);
    EXPECT_INT("depth", self.depth, 0);
}

/* ---- modes that change ------------------------------------------------------------ */

Test(shim, a_sweep_lets_go_and_gives_back) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    ASSERT(c->held);
    fake_log();
    config_switch(MODE_OBSERVE, false);
    sweep(PUSH_MODE);
    EXPECT(!c->held && !c->policy.nodelay);
    const char *log = fake_log();
    cr_expect(strstr(log, "nodelay(5,1)") && strstr(log, "nodelay(5,0)"), "%s", log);
    EXPECT_INT("mode", c->policy.mode, MODE_OBSERVE);
    config_switch(MODE_CORK, false);
    ASSERT(conn_lock(c));
    c->policy.untracked_io = true;
    conn_unlock(c);
    sweep(PUSH_MODE);
    EXPECT_TEXT("a untracked one is cured at once", fake_log(), "nodelay(5,1)");
}

/* ---- descriptors inside messages --------------------------------------------------- */

static struct msghdr *message_with(int fd, int level, int type, size_t length) {
    static union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr head;
    } control;
    static struct msghdr message;
    message = (struct msghdr){.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    control.head = (struct cmsghdr){.cmsg_len = length, .cmsg_level = level, .cmsg_type = type};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    memcpy(CMSG_DATA(&control.head) + sizeof(fd), &(int){99}, sizeof(int));
    return &message;
}

static struct msghdr *rights_to(int fd) {
    return message_with(fd, SOL_SOCKET, SCM_RIGHTS, CMSG_LEN(sizeof(int)));
}

/* The next owner must not take our TCP_NODELAY for the application's wish. */
Test(shim, what_is_passed_on_gets_the_applications_option) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    ASSERT(c->held);
    uint32_t before = nodelay_epoch;
    fake_log();
    shim_descriptors_leave(rights_to(5));
    EXPECT(!c->held && c->passed && nodelay_epoch != before);
    const char *log = fake_log(), *push = strstr(log, "nodelay(5,1)");
    cr_expect(push && strstr(push, "nodelay(5,0)"), "%s", log);
    EXPECT_INT("depth", self.depth, 0);
}

Test(shim, other_messages_carry_nothing) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    shim_descriptors_leave(NULL);
    shim_descriptors_leave(&(struct msghdr){0});
    shim_descriptors_leave(message_with(5, SOL_SOCKET, SCM_CREDENTIALS, CMSG_LEN(sizeof(int))));
    shim_descriptors_leave(message_with(5, IPPROTO_TCP, SCM_RIGHTS, CMSG_LEN(sizeof(int))));
    shim_descriptors_leave(message_with(5, SOL_SOCKET, SCM_RIGHTS, CMSG_LEN(0)));
    EXPECT(c->held && !c->passed);
    shim_descriptors_leave(message_with(88, SOL_SOCKET, SCM_RIGHTS, CMSG_LEN(2 * sizeof(int))));
    EXPECT(c->held && !c->passed && self.depth == 0);
}

/* It comes back under another number: one connection still. */
Test(shim, what_was_passed_and_comes_back_is_known) {
    whole_start_in(MODE_AUTO);
    struct conn *c = whole_connected(5);
    fake.protocol = IPPROTO_TCP;
    shim_descriptors_arrive(rights_to(9));
    EXPECT_TEXT("nothing was ever passed: nothing is asked", fake_log(), "");
    shim_descriptors_leave(rights_to(5));
    fds_set(9, FDS_OTHER); /* its value before */
    shim_descriptors_arrive(rights_to(9));
    EXPECT(fds_conn(fds_word(9)) == c);
    EXPECT_INT("two numbers", c->refs, 2);
    EXPECT_INT("depth", self.depth, 0);
}

/* ---- sendfile, splice, sendmmsg ------------------------------------------------------ */

static ssize_t moves(int fd, ssize_t bytes, unsigned pieces, bool more) {
    struct call call;
    if (shim_bulk_begins(fd, 0, false, &call) == BULK_FAILS)
        return -1;
    errno = bytes < 0 ? ECONNRESET : 0;
    shim_bulk_ended(call, fd, pieces, bytes, more, 0);
    return bytes;
}

Test(shim, a_moved_body_behind_a_header) {
    whole_start_in(MODE_NODELAY);
    struct conn *c = whole_connected(5);
    whole_write(5, "head");
    fake_log();
    EXPECT_INT("moved", moves(5, 100, 1, false), 100);
    EXPECT_TEXT("a late push after it", fake_log(), "nodelay(5,1)");
    EXPECT_INT("writes", c->counts.writes, 2);
    EXPECT_INT("bytes", c->counts.bytes, 104);
    EXPECT_INT("pieces", moves(5, 100, 2, false), 100);
    EXPECT_INT("each one counts", c->counts.writes, 4);
    EXPECT_INT("bytes", c->counts.bytes, 204);
    EXPECT_INT("nothing", moves(5, 0, 1, false), 0);
    EXPECT_INT("is nothing", c->counts.writes, 4);
    EXPECT_INT("an error", moves(5, -1, 1, false), -1);
    EXPECT(c->policy.refuses);
    EXPECT_INT("depth", self.depth, 0);
}

/* Buffered bytes leave first, held, in the segment of the next bytes; not under MPTCP. */
Test(shim, a_moved_body_behind_buffered_bytes) {
    for (int mptcp = 0; mptcp < 2; mptcp++) {
        whole_start_in(MODE_COALESCE);
        struct conn *c = whole_warm(5);
        EXPECT_INT("buffered", whole_write(5, "head"), 4);
        c->policy.mptcp = mptcp;
        fake_log();
        EXPECT_INT("moved", moves(5, 100, 1, true), 100);
        EXPECT(strstr(fake_log(), mptcp ? "send(5,head)" : "more(5,head)"));
        EXPECT_INT("ours waits with what the application holds", c->held, !mptcp);
        EXPECT_INT("moved", moves(5, 100, 1, false), 100);
        EXPECT(!c->held);
        shim_closing(5);
    }
}

Test(shim, a_moved_body_finds_no_room) {
    struct call call;
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "head"), 4);
    fake.non_blocking = true;
    fake.sends[fake.send_count] = -EAGAIN;
    EXPECT(shim_bulk_begins(5, 0, false, &call) == BULK_FAILS);
    EXPECT_INT("errno", errno, EAGAIN);
    EXPECT_INT("it waits", buffer_length(c), 4);
    EXPECT_INT("depth", self.depth, 0);
    fake.non_blocking = false;
    fake.sends[fake.send_count] = -EAGAIN;
    fake_log();
    EXPECT(shim_bulk_begins(5, 0, false, &call) == BULK_GOES && call.conn == c);
    const char *log = fake_log();
    cr_expect(strstr(log, "SEND(5,head)"), "a blocking one drains: %s", log);
    shim_bulk_ended(call, 5, 1, 10, false, 0);
    EXPECT_INT("depth", self.depth, 0);
}

Test(shim, a_moved_body_of_one_that_is_closed) {
    struct call call;
    whole_start_in(MODE_NODELAY);
    whole_connected(5);
    EXPECT(shim_bulk_begins(5, 0, false, &call) == BULK_GOES);
    close_and_connect_again();
    shim_bulk_ended(call, 5, 1, 100, false, 0);
    EXPECT_INT("not the new one's", fds_conn(fds_word(5))->counts.writes, 0);
    EXPECT(shim_bulk_begins(88, 0, false, &call) == BULK_GOES && !call.conn);
    shim_bulk_ended(call, 88, 1, 100, false, 0);
}

/* ---- options -------------------------------------------------------------------------- */

static int got(int fd, int level, int name, int kernels) {
    shim_option_got(fd, level, name, &kernels, sizeof(kernels));
    return kernels;
}

static void sets(int fd, int level, int name, int value) {
    shim_option_setting(fd, level, name);
    shim_option_set(fd, level, name, &value, sizeof(value));
}

Test(shim, what_the_application_set_is_what_it_reads_back) {
    whole_start_in(MODE_NODELAY);
    struct conn *c = whole_connected(5);
    whole_write(5, "head");
    whole_write(5, "body");
    ASSERT(c->policy.nodelay);
    EXPECT_INT("ours is not told", got(5, IPPROTO_TCP, TCP_NODELAY, 1), 0);
    EXPECT_INT("others are the kernel's", got(5, IPPROTO_TCP, TCP_CORK, 1), 1);
    EXPECT_INT("of another level too", got(5, SOL_SOCKET, TCP_NODELAY, 1), 1);
    fake_log();
    sets(5, IPPROTO_TCP, TCP_NODELAY, 1);
    EXPECT_INT("its own", got(5, IPPROTO_TCP, TCP_NODELAY, 0), 1);
    sets(5, IPPROTO_TCP, TCP_NODELAY, 0);
    EXPECT_INT("its own", got(5, IPPROTO_TCP, TCP_NODELAY, 1), 0);
    cr_expect(c->policy.nodelay, "where it was cured it stays cured");
    EXPECT_TEXT("set again", fake_log(), "nodelay(5,1)");
    int value = 0;
    shim_option_set(5, IPPROTO_TCP, TCP_NODELAY, &(char){1}, 1);
    shim_option_got(5, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value));
    EXPECT_INT("too short to be one", value, 0);
}

/* The application has set it by an inline system call. */
Test(shim, off_tells_the_kernels_answer) {
    whole_start_in(MODE_OFF);
    whole_connected(5);
    EXPECT_INT("as the kernel says", got(5, IPPROTO_TCP, TCP_NODELAY, 1), 1);
    EXPECT_INT("in whichever byte", got(5, IPPROTO_TCP, TCP_NODELAY, 1 << 24), 1 << 24);
    EXPECT_TEXT("not asked again", fake_log(), "");
    fake.nodelay = 1;
    hold_restores = 1;
    EXPECT_INT("ours may have come between", got(5, IPPROTO_TCP, TCP_NODELAY, 1), 1);
    EXPECT_TEXT("asked again", fake_log(), "nodelay?(5)");
    fake.nodelay = 0;
    EXPECT_INT("it has", got(5, IPPROTO_TCP, TCP_NODELAY, 1), 0);
}

Test(shim, off_leaves_its_zero_alone) {
    whole_start_in(MODE_OFF);
    whole_connected(5);
    sets(5, IPPROTO_TCP, TCP_NODELAY, 1);
    sets(5, IPPROTO_TCP, TCP_NODELAY, 0);
    EXPECT_TEXT("log", fake_log(), "");
}

/* Two writes under the application's cork are one unit; a unit before it makes it the second. */
Test(shim, the_end_of_its_cork_is_pushed) {
    whole_start_in(MODE_NODELAY);
    struct conn *c = whole_connected(5);
    whole_write(5, "head");
    sets(5, IPPROTO_TCP, TCP_CORK, 1);
    EXPECT(c->policy.app_cork);
    whole_write(5, "body");
    whole_write(5, "more");
    fake_log();
    sets(5, IPPROTO_TCP, TCP_CORK, 0);
    EXPECT_TEXT("pushed", fake_log(), "nodelay(5,1)");
    EXPECT(!c->policy.app_cork);
    EXPECT_INT("late pushes", c->counts.late_pushes, 1);
}

/* A stream without answers, corked by the application, kept TCP_NODELAY from its second piece on. */
Test(shim, a_corked_stream_without_answers_keeps_nagle) {
    whole_start_in(MODE_AUTO);
    struct conn *c = whole_connected(5);
    for (int i = 0; i < 8; i++) {
        sets(5, IPPROTO_TCP, TCP_CORK, 1);
        whole_write(5, "piece");
        sets(5, IPPROTO_TCP, TCP_CORK, 0);
    }
    EXPECT(c->policy.one_way);
    EXPECT(!c->policy.nodelay);
    const char *log = fake_log();
    cr_expect(strstr(log, "nodelay(5,1)") && strstr(log, "nodelay(5,0)"), "%s", log);
}

/* The application's holds begin where ours end, and buffered bytes count on the earlier room. */
static const struct {
    const char *name;
    int level, option;
    bool lets_go;
} own[] = {
    {"TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY, true}, {"TCP_CORK", IPPROTO_TCP, TCP_CORK, true},
    {"TCP_ULP", IPPROTO_TCP, TCP_ULP, true},         {"SO_SNDBUF", SOL_SOCKET, SO_SNDBUF, true},
    {"SO_SNDBUFFORCE", SOL_SOCKET, SO_SNDBUFFORCE, true},
    {"SO_RCVBUF", SOL_SOCKET, SO_RCVBUF, false},
    {"TCP_KEEPIDLE", IPPROTO_TCP, TCP_KEEPIDLE, false},
};

Test(shim, before_it_sets_an_option_what_is_buffered_leaves) {
    EACH_ROW(row, own) {
        whole_start_in(MODE_COALESCE);
        struct conn *c = whole_warm(5);
        EXPECT_INT("buffered", whole_write(5, "abc"), 3);
        shim_option_setting(5, row->level, row->option);
        EXPECT_INT(row->name, buffer_length(c) == 0, row->lets_go);
        shim_option_set(5, row->level, row->option, &(int){0}, sizeof(int));
        EXPECT_INT(row->name, c->policy.never_hold, row->option == TCP_ULP);
        EXPECT_INT(row->name, c->policy.buffer_limit == 0, row->lets_go && row->level == SOL_SOCKET);
        EXPECT_INT(row->name, self.depth, 0);
        shim_closing(5);
    }
}

/* An option for bytes that leave later, or one that tells writes apart, pushes held bytes first. */
static const struct {
    int level, option;
} later[] = {
    {IPPROTO_TCP, TCP_NOTSENT_LOWAT},  {IPPROTO_TCP, TCP_FASTOPEN_CONNECT}, {IPPROTO_TCP, TCP_REPAIR},
    {IPPROTO_TCP, TCP_MAXSEG},         {IPPROTO_TCP, TCP_MD5SIG},           {IPPROTO_TCP, TCP_CONGESTION},
    {SOL_SOCKET, SO_TIMESTAMPING},     {SOL_SOCKET, SO_TXTIME},             {SOL_SOCKET, SO_ZEROCOPY},
    {SOL_SOCKET, SO_PRIORITY},         {SOL_SOCKET, SO_MARK},               {SOL_SOCKET, SO_MAX_PACING_RATE},
    {SOL_SOCKET, SO_DONTROUTE},        {SOL_SOCKET, SO_BINDTODEVICE},       {IPPROTO_IP, IP_TOS},
    {IPPROTO_IP, IP_TTL},              {IPPROTO_IPV6, IPV6_TCLASS},         {IPPROTO_IPV6, IPV6_UNICAST_HOPS},
    {IPPROTO_TCP, TCP_MD5SIG_EXT},     {IPPROTO_TCP, 37 /* TCP_TX_DELAY */},
    {IPPROTO_TCP, 38 /* TCP_AO_ADD_KEY */}, {IPPROTO_TCP, 39 /* TCP_AO_DEL_KEY */},
    {IPPROTO_TCP, 40 /* TCP_AO_INFO */}, {SOL_SOCKET, 62 /* SO_BINDTOIFINDEX */},
    {SOL_SOCKET, SO_CNX_ADVICE},
    {IPPROTO_IP, IP_OPTIONS},          {IPPROTO_IP, IP_MTU_DISCOVER},       {IPPROTO_IP, IP_IPSEC_POLICY},
    {IPPROTO_IP, IP_XFRM_POLICY},      {IPPROTO_IPV6, IPV6_HOPOPTS},        {IPPROTO_IPV6, IPV6_DSTOPTS},
    {IPPROTO_IPV6, IPV6_RTHDRDSTOPTS}, {IPPROTO_IPV6, IPV6_RTHDR},          {IPPROTO_IPV6, IPV6_MTU_DISCOVER},
    {IPPROTO_IPV6, IPV6_2292PKTOPTIONS}, {IPPROTO_IPV6, 32 /* IPV6_FLOWLABEL_MGR */},
    {IPPROTO_IPV6, IPV6_AUTOFLOWLABEL}, {IPPROTO_IPV6, IPV6_IPSEC_POLICY}, {IPPROTO_IPV6, IPV6_XFRM_POLICY},
};

/* Of input, timers, the closing, datagrams: the bytes that leave later are no others. */
static const struct {
    int level, option;
} of_other_things[] = {
    {IPPROTO_TCP, TCP_QUICKACK},       {IPPROTO_TCP, TCP_USER_TIMEOUT},     {IPPROTO_TCP, TCP_KEEPIDLE},
    {IPPROTO_TCP, TCP_SYNCNT},         {IPPROTO_TCP, TCP_LINGER2},          {IPPROTO_TCP, TCP_WINDOW_CLAMP},
    {IPPROTO_TCP, TCP_INQ},            {SOL_SOCKET, SO_KEEPALIVE},          {SOL_SOCKET, SO_RCVBUF},
    {SOL_SOCKET, SO_LINGER},           {SOL_SOCKET, SO_SNDTIMEO},           {SOL_SOCKET, SO_TIMESTAMP},
    {IPPROTO_IP, IP_RECVERR},          {IPPROTO_IP, IP_MINTTL},             {IPPROTO_IP, IP_PKTINFO},
    {IPPROTO_IPV6, IPV6_V6ONLY},       {IPPROTO_IPV6, IPV6_DONTFRAG},       {IPPROTO_IPV6, IPV6_RECVTCLASS},
    {IPPROTO_IPV6, IPV6_MINHOPCOUNT},  {IPPROTO_IPV6, IPV6_PKTINFO},
};

Test(shim, an_option_of_later_bytes_lets_go) {
    static const enum mode modes[] = {MODE_CORK, MODE_COALESCE};
    EACH_ROW(row, later) {
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
            whole_start_in(modes[i]);
            struct conn *c = whole_warm(5);
            EXPECT_INT("written", whole_write(5, "abc"), 3);
            ASSERT(c->held || buffer_length(c));
            shim_option_setting(5, row->level, row->option);
            cr_expect(!c->held && buffer_length(c) == 0, "%d of %d", row->option, row->level);
            shim_closing(5);
        }
    }
}

Test(shim, an_option_of_other_things_lets_nothing_go) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    EXPECT_INT("written", whole_write(5, "abc"), 3);
    EACH_ROW(row, of_other_things) {
        shim_option_setting(5, row->level, row->option);
        cr_expect(c->held, "%d of %d", row->option, row->level);
    }
}

/* SO_ERROR takes an error away, our kept one first.  The error ends the sending side as the error
 * of a call would. */
Test(shim, so_error) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_connected(5);
    EXPECT_INT("none", got(5, SOL_SOCKET, SO_ERROR, 0), 0);
    EXPECT(!c->policy.refuses);
    c->pending_error = ECONNRESET;
    EXPECT_INT("ours", got(5, SOL_SOCKET, SO_ERROR, 0), ECONNRESET);
    EXPECT_INT("taken", got(5, SOL_SOCKET, SO_ERROR, 0), 0);
    EXPECT_INT("the kernel's", got(5, SOL_SOCKET, SO_ERROR, ETIMEDOUT), ETIMEDOUT);
    EXPECT(c->policy.refuses);
}

Test(shim, an_option_of_what_is_no_connection) {
    whole_start_in(MODE_CORK);
    sets(88, IPPROTO_TCP, TCP_NODELAY, 1);
    EXPECT_INT("the kernel's", got(88, IPPROTO_TCP, TCP_NODELAY, 1), 1);
    EXPECT_INT("depth", self.depth, 0);
}

/* Whether the unit that a cork's end lets go is small may have to be asked. */
Test(shim, the_end_of_a_large_cork_asks_for_the_mss) {
    whole_start_in(MODE_NODELAY);
    whole_connected(5);
    whole_write(5, "head");
    sets(5, IPPROTO_TCP, TCP_CORK, 1);
    whole_write_long(5, 700);
    fake_log();
    sets(5, IPPROTO_TCP, TCP_CORK, 0);
    EXPECT_TEXT("asked, and pushed", fake_log(), "mss(5) nodelay(5,1)");
}

/* A sweep meets a connection before its first use, and leaves it alone; its first use does not. */
Test(shim, a_sweep_before_the_first_use) {
    whole_start_in(MODE_NODELAY);
    whole_connected(5);
    whole_connected(6);
    sweep(PUSH_MODE);
    whole_write(5, "head");
    whole_write(5, "body");
    EXPECT_TEXT("cured", fake_log(), "WRITE(5,head) nodelay(5,1) WRITE(5,body)");
    conn_unlock(conn_lock_fd(6));
    EXPECT_INT("the long path", fds_conn(fds_word(6))->policy.mode, MODE_NODELAY);
}

/* A handler that interrupts us in a section of ours moves bytes: none of our business. */
Test(shim, a_moved_body_in_a_handler) {
    struct call call;
    whole_start_in(MODE_CORK);
    whole_connected(5);
    self.depth = 1;
    in_handler();
    EXPECT(shim_bulk_begins(5, 0, false, &call) == BULK_GOES && !call.conn);
    self.depth = 0;
}
