/* SPDX-License-Identifier: MIT */
#include "fake_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <string.h>

#include "clock.h"
#include "config.h"
#include "fds.h"
#include "lock.h"

struct fake_kernel fake;

static uint32_t log_lock; /* the window's thread writes too */

void fake_note(const char *what, int fd, const char *with, size_t n) {
    uint32_t *beneath = self.spinning;
    while (!spin_lock(&log_lock))
        ;
    text_add(&fake.log, fake.log.used ? " " : "");
    text_add(&fake.log, what);
    text_add(&fake.log, "(");
    text_number(&fake.log, fd);
    if (with) {
        text_add(&fake.log, ",");
        text_add_n(&fake.log, with, n);
    }
    text_add(&fake.log, ")");
    spin_unlock(&log_lock);
    self.spinning = beneath;
}

struct timespec fake_clock;
static int (*fine_clock)(clockid_t clock, struct timespec *now);

static int standing_clock(clockid_t clock, struct timespec *now) {
    if (clock != CLOCK_MONOTONIC_COARSE)
        return fine_clock(clock, now);
    *now = fake_clock;
    return 0;
}

void fake_clock_stands(void) {
    if (clock_get != standing_clock)
        fine_clock = clock_get;
    clock_get = standing_clock;
    fine_clock(CLOCK_MONOTONIC_COARSE, &fake_clock);
}

static int set_option(int fd, int level, int name, int value) {
    bool nodelay = level == IPPROTO_TCP && name == TCP_NODELAY;
    fake_note(nodelay ? "nodelay" : "set", fd, value ? "1" : "0", 1);
    return fake.set_error;
}

static int get_option(int fd, int level, int name, int *value) {
    int ulp;
    memcpy(&ulp, fake.ulp, sizeof(ulp));
    const struct {
        int level, name;
        const char *noted; /* NULL: not in the log */
        int answer;
        bool refused;
    } options[] = {
        {SOL_SOCKET, SO_SNDBUF, NULL, fake.room, !fake.room},
        {SOL_SOCKET, SO_PROTOCOL, "protocol", fake.protocol, fake.protocol <= 0},
        {SOL_SOCKET, SO_TYPE, "type", SOCK_STREAM, false},
        {SOL_SOCKET, SO_TIMESTAMPING, "stamps?", 0, false},
        {SOL_SOCKET, SO_ZEROCOPY, "zerocopy?", 0, false},
        {IPPROTO_TCP, TCP_MAXSEG, "mss", fake.mss, !fake.mss},
        {IPPROTO_TCP, TCP_NODELAY, "nodelay?", fake.nodelay, false},
        {IPPROTO_TCP, TCP_CORK, "cork?", fake.cork, false},
        {IPPROTO_TCP, TCP_ULP, "ulp?", ulp, false},
        {IPPROTO_TCP, TCP_NOTSENT_LOWAT, "unsent?", 0, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        if (options[i].level != level || options[i].name != name)
            continue;
        if (options[i].noted)
            fake_note(options[i].noted, fd, NULL, 0);
        *value = options[i].answer;
        return !options[i].refused ? 0 : *value < 0 ? *value : -EINVAL;
    }
    fake_note("get", fd, NULL, 0);
    return -EINVAL;
}

static int cookie(int fd, uint64_t *value) {
    fake_note("cookie", fd, NULL, 0);
    *value = fake.cookie;
    return fake.cookie ? 0 : -ENOTSOCK;
}

static int tcp_info(int fd, struct kernel_tcp_info *out) {
    fake_note("info", fd, NULL, 0);
    *out = fake.tcp_info;
    return fake.tcp_info_error;
}

static ssize_t send_message(int fd, const struct msghdr *message, int flags) {
    TEXT(all, 16384);
    for (size_t i = 0; i < message->msg_iovlen; i++)
        text_add_n(&all, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
    bool polite = (flags & MSG_DONTWAIT) && (flags & MSG_NOSIGNAL);
    fake_note(!polite            ? "rude"
         : flags & MSG_MORE ? "more"
                            : "send",
         fd, all.at, all.used < 40 ? all.used : 40);
    ssize_t answer = fake.send_count < FAKE_SENDS ? fake.sends[fake.send_count] : 0;
    fake.send_count++;
    if (answer < 0)
        return answer;
    if (answer == 0 || (size_t)answer > all.used)
        answer = (ssize_t)all.used;
    text_add_n(&fake.wire, all.at, (size_t)answer);
    return answer;
}

static int descriptor_flags(int fd) {
    fake_note("flags", fd, NULL, 0);
    return 0;
}

static int status_flags(int fd) {
    (void)fd;
    return fake.non_blocking ? O_NONBLOCK : 0;
}

static int writable(int fd, int timeout_ms) {
    (void)timeout_ms;
    fake_note("room", fd, NULL, 0);
    return !fake.full;
}

static int is_file(int fd) {
    fake_note("stat", fd, NULL, 0);
    return 0;
}

static int name_of(int fd, bool peer, struct sockaddr_storage *address) {
    uint16_t port = peer ? fake.peer_port : fake.local_port;
    fake_note(peer ? "peer" : "local", fd, NULL, 0);
    *(struct sockaddr_in *)address =
        (struct sockaddr_in){.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return port ? 0 : -ENOTCONN;
}

static bool has_input(int fd) {
    fake_note("input?", fd, NULL, 0);
    return false;
}

static int dup_above(int fd, int lowest) {
    fake_note("dup", fd, NULL, 0);
    return lowest;
}

static int close_descriptor(int fd) {
    fake_note("close", fd, NULL, 0);
    return 0;
}

static int usage(struct kernel_usage *out) {
    fake_note("usage", -1, NULL, 0);
    *out = fake.usage;
    return fake.usage_error;
}

static int linger(int fd) {
    (void)fd;
    return fake.linger - 1;
}

static int shut_writing(int fd) {
    fake_note("shut", fd, NULL, 0);
    return 0;
}

static int end_linger(int fd) {
    fake_note("unlinger", fd, NULL, 0);
    return 0;
}

static const struct kernel_ops ops = {
    .set_option = set_option,
    .get_option = get_option,
    .cookie = cookie,
    .tcp_info = tcp_info,
    .send = send_message,
    .descriptor_flags = descriptor_flags,
    .status_flags = status_flags,
    .is_file = is_file,
    .name = name_of,
    .writable = writable,
    .has_input = has_input,
    .usage = usage,
    .dup_above = dup_above,
    .close = close_descriptor,
    .linger = linger,
    .end_linger = end_linger,
    .shut_writing = shut_writing,
};

void fake_kernel_install(void) {
    memset(&fake, 0, sizeof(fake));
    fake.log = (struct text){fake.log_buffer, sizeof(fake.log_buffer), 0};
    fake.wire = (struct text){fake.wire_buffer, sizeof(fake.wire_buffer), 0};
    fake.mss = 1460;
    fake.cookie = 77;
    kernel = &ops;
}

struct conn *fake_kernel_connected(enum mode mode) {
    fake_kernel_install();
    config_load(NULL, "prog");
    struct conn *c = fds_create(5, ORIGIN_SOCKET);
    c->policy.mode = (uint8_t)mode;
    c->policy.established = c->policy.untracked_io = true;
    conn_unlock(c);
    return c;
}

const char *fake_log(void) {
    static char taken[sizeof(fake.log_buffer)];
    while (!spin_lock(&log_lock))
        ;
    memcpy(taken, fake.log_buffer, fake.log.used + 1);
    fake.log.used = 0;
    fake.log_buffer[0] = '\0';
    spin_unlock(&log_lock);
    return taken;
}
