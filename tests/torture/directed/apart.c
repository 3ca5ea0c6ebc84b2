/* SPDX-License-Identifier: MIT
 *
 * Options by which the kernel, or the program, tells one write from the next: a
 * connection that has one is written to as bare, a segment a write.
 */
#include "directed.h"

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/ip.h>
#include <linux/tcp.h>

enum { MESSAGES = 5, WRITES = 2 * MESSAGES, TIMES = 200 };

struct option {
    const char *name;
    int level, option;
    union {
        int number;
        struct {
            uint32_t clock, flags;
        } txtime;
    } value;
    socklen_t length;
};

static const struct option stamps = {
    "SO_TIMESTAMPING", SOL_SOCKET, SO_TIMESTAMPING,
    {SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY}, sizeof(int)};

/* ---- the setter and the moment -------------------------------------------- */

static void by_libc(int fd, const struct option *o) {
    CHECK(setsockopt(fd, o->level, o->option, &o->value, o->length) == 0, "%s: %s", o->name,
          strerror(errno));
}

static void by_syscall(int fd, const struct option *o) {
    CHECK(syscall(SYS_setsockopt, fd, o->level, o->option, &o->value, o->length) == 0, "%s: %s", o->name,
          strerror(errno));
}

static void unseen(int fd, const struct option *o) {
    long error = raw(SYS_setsockopt, fd, o->level, o->option, (long)&o->value, o->length, 0);
    CHECK(error == 0, "%s: %s", o->name, strerror((int)-error));
}

static struct pair with_option(const struct option *o) {
    struct pair p = pair_make(0);
    by_libc(p.ours, o);
    return p;
}

static struct pair with_it_by_syscall(const struct option *o) {
    struct pair p = pair_make(0);
    by_syscall(p.ours, o);
    return p;
}

/* Held bytes leave before it is set. */
static struct pair with_it_later(const struct option *o) {
    struct pair p = pair_warm(0);
    put_all(&p, 20);
    by_libc(p.ours, o);
    arrives(&p, 60);
    char answer[10];
    reply(&p, sizeof(answer));
    CHECK(recv(p.ours, answer, sizeof(answer), MSG_WAITALL) == sizeof(answer), "no answer");
    return p;
}

/* The program came to it ready-made. */
static struct pair inherited(const struct option *o) {
    struct pair p = pair_make(0);
    unseen(p.ours, o);
    int copy = (int)raw(SYS_fcntl, p.ours, 1030 /* F_DUPFD_CLOEXEC */, 200, 0, 0, 0);
    close(p.ours);
    p.ours = copy;
    return p;
}

static struct pair accepted(const struct option *o) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 4) == 0 &&
              getsockname(listener, (struct sockaddr *)&address, &length) == 0,
          "no listener");
    by_libc(listener, o);
    struct pair p = {.theirs = (int)raw(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0, 0)};
    raw(SYS_setsockopt, p.theirs, IPPROTO_TCP, TCP_NODELAY, (long)&one, sizeof(one), 0);
    CHECK(raw(SYS_connect, p.theirs, (long)&address, length, 0, 0, 0) == 0, "no connection");
    p.ours = accept(listener, NULL, NULL);
    CHECK(p.ours >= 0, "accept: %s", strerror(errno));
    close(listener);
    return p;
}

static struct pair (*const ways[])(const struct option *) = {with_option, with_it_by_syscall, with_it_later,
                                                             inherited, accepted};
static const char *const way_names[] = {"set", "set by syscall", "set later", "inherited", "accepted"};

/* ---- differences that the program can see ------------------------------------------------- */

static int stamps_of(int fd) {
    int count = 0;
    for (int i = 0; i < TIMES; i++) {
        char control[512];
        struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};
        if (raw(SYS_recvmsg, fd, (long)&message, MSG_ERRQUEUE | MSG_DONTWAIT, 0, 0, 0) >= 0)
            count++;
        else
            break;
    }
    return count;
}

static unsigned segments_of(int fd) {
    struct tcp_info info = {0};
    socklen_t length = sizeof(info);
    raw(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, (long)&info, (long)&length, 0);
    return info.tcpi_data_segs_out;
}

static void each_write_has_its_timestamp(void) {
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct pair p = ways[i](&stamps);
        stamps_of(p.ours);
        for (int message = 0; message < MESSAGES; message++)
            exchange(&p);
        int count = stamps_of(p.ours);
        CHECK(count >= WRITES, "%s: %d stamps of %d writes", way_names[i], count, WRITES);
        pair_close(&p);
    }
}

static const struct option apart[] = {
    {"SO_TIMESTAMPING", SOL_SOCKET, SO_TIMESTAMPING, {SOF_TIMESTAMPING_TX_ACK}, sizeof(int)},
    {"SO_TIMESTAMPING_NEW", SOL_SOCKET, 65, {SOF_TIMESTAMPING_TX_SOFTWARE}, sizeof(int)},
    {"SO_ZEROCOPY", SOL_SOCKET, SO_ZEROCOPY, {1}, sizeof(int)},
    {"TCP_NOTSENT_LOWAT", IPPROTO_TCP, TCP_NOTSENT_LOWAT, {16384}, sizeof(int)},
    {"SO_TXTIME", SOL_SOCKET, SO_TXTIME, {.txtime = {CLOCK_MONOTONIC, 0}}, 8},
};

static void each_write_is_a_segment(void) {
    for (size_t o = 0; o < sizeof(apart) / sizeof(apart[0]); o++)
        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
            if (apart[o].option == SO_TXTIME && ways[i] == inherited)
                continue; /* it cannot be asked for, and says nothing of a plain write */
            struct pair p = ways[i](&apart[o]);
            unsigned before = segments_of(p.ours);
            for (int message = 0; message < MESSAGES; message++)
                exchange(&p);
            unsigned count = segments_of(p.ours) - before;
            CHECK(count >= WRITES, "%s, %s: %u segments of %d writes", apart[o].name, way_names[i], count,
                  WRITES);
            pair_close(&p);
        }
}

/* Bytes written before such an option is set leave without it. */
static const struct option between[] = {
    {"IP_TOS", IPPROTO_IP, IP_TOS, {IPTOS_LOWDELAY}, sizeof(int)},
    {"IP_TTL", IPPROTO_IP, IP_TTL, {60}, sizeof(int)},
    {"SO_PRIORITY", SOL_SOCKET, SO_PRIORITY, {3}, sizeof(int)},
    {"SO_MAX_PACING_RATE", SOL_SOCKET, SO_MAX_PACING_RATE, {1 << 30}, sizeof(int)},
    {"IP_OPTIONS", IPPROTO_IP, IP_OPTIONS, {0x01010101 /* IPOPT_NOP */}, sizeof(int)},
    {"IP_MTU_DISCOVER", IPPROTO_IP, IP_MTU_DISCOVER, {IP_PMTUDISC_DO}, sizeof(int)},
    {"TCP_TX_DELAY", IPPROTO_TCP, 37, {1 /* microsecond */}, sizeof(int)},
};

static void what_was_written_before_an_option_leaves(void) {
    enum { FEW = 3 };
    char answer[10];
    for (size_t o = 0; o < sizeof(between) / sizeof(between[0]); o++)
        for (int raised = 0; raised < 2; raised++) {
            struct pair p = pair_warm(0);
            unsigned before = segments_of(p.ours);
            for (int message = 0; message < FEW; message++) {
                put_all(&p, 200);
                (raised ? by_syscall : by_libc)(p.ours, &between[o]);
                put_all(&p, 100);
                arrives(&p, 2000);
                reply(&p, sizeof(answer));
                CHECK(recv(p.ours, answer, sizeof(answer), MSG_WAITALL) == sizeof(answer), "none");
            }
            unsigned count = segments_of(p.ours) - before;
            CHECK(count >= 2 * FEW, "%s%s: %u segments of %d writes", between[o].name,
                  raised ? " by syscall" : "", count, 2 * FEW);
            pair_close(&p);
        }
}

CASE("each write has its timestamp", each_write_has_its_timestamp())
CASE("each write is a segment", each_write_is_a_segment())
CASE("what was written before an option leaves", what_was_written_before_an_option_leaves())
