/* SPDX-License-Identifier: MIT
 *
 * The parts that the test programs share: connect to the peer in the test process, run
 * exchanges, mark the system call trace, print the facts as one line of JSON.
 *
 * Every client takes: ADDRESS PORT [COUNT [PROTOCOL]].  An exchange is a
 * message of HEADER + BODY bytes and an answer of REPLY bytes, the sizes of
 * harness.AnsweringPeer.
 *
 * This header's own calls (marks, TCP_INFO) are raw system calls: no library sees them.
 */
#ifndef UNSTALL_TEST_CLIENT_H
#define UNSTALL_TEST_CLIENT_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../harness/raw.h"

#define UNUSED __attribute__((unused))

enum { HEADER = 200, BODY = 100, REPLY = 200, WARM = 3, MOST = 4096 };

/* Marks: exchange numbers below MOST, then these. */
enum { MARK_BASE = 1000000000, BEGIN = MOST, END, PAUSE };

/* ---- raw system calls ------------------------------------------------- */

static UNUSED long raw_call(long number, long a, long b, long c, long d, long e) {
    return raw6(number, a, b, c, d, e, 0);
}

/* Leaves a mark in the trace: harness.strace knows it. */
static UNUSED void mark(int number) {
    raw_call(SYS_getsid, MARK_BASE + number, 0, 0, 0, 0);
}

static UNUSED int raw_option(int fd, int level, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    long failed = raw_call(SYS_getsockopt, fd, level, name, (long)&value, (long)&length);
    return failed < 0 ? (int)failed : value;
}

static UNUSED struct tcp_info info_of(int fd) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    raw_call(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, (long)&info, (long)&length);
    return info;
}

static UNUSED unsigned data_segments(int fd) {
    return info_of(fd).tcpi_data_segs_out;
}

/* ---- small helpers ---------------------------------------------------- */

static UNUSED _Noreturn void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(99);
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) die(__FILE__ ": " #condition);                                           \
    } while (0)

static UNUSED long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

/* The next bytes of a stream, letters and digits: harness.pattern() is the same. */
static UNUSED void fill(char *buffer, size_t length, size_t start) {
    static const char signs[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; i < length; i++) {
        size_t at = start + i;
        buffer[i] = signs[(at * 7 + (at >> 6) * 13) % (sizeof signs - 1)];
    }
}

/* ---- connecting ------------------------------------------------------- */

typedef struct {
    const char *address;
    int port;
    int count;
    int protocol;
} client_t;

static UNUSED client_t client_arguments(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s ADDRESS PORT [COUNT [PROTOCOL]]\n", argv[0]);
        exit(99);
    }
    client_t client = {argv[1], atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 12,
                       argc > 4 ? atoi(argv[4]) : 0};
    if (client.count > MOST) client.count = MOST;
    return client;
}

static UNUSED int connect_to(client_t client) {
    if (strchr(client.address, ':')) {
        struct sockaddr_in6 peer = {.sin6_family = AF_INET6, .sin6_port = htons(client.port)};
        inet_pton(AF_INET6, client.address, &peer.sin6_addr);
        int fd = socket(AF_INET6, SOCK_STREAM, client.protocol);
        CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0);
        return fd;
    }
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, client.protocol);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0);
    return fd;
}

/* By raw calls. */
static UNUSED int connect_unseen(client_t client) {
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    int fd = (int)raw_call(SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0);
    CHECK(fd >= 0 && raw_call(SYS_connect, fd, (long)&peer, sizeof peer, 0, 0) == 0);
    return fd;
}

/* A listener of our own; connect(2) and getsockname(2) take `*here`. */
static UNUSED int listen_here(struct sockaddr_in *here) {
    socklen_t length = sizeof *here;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    *here = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    CHECK(bind(listener, (struct sockaddr *)here, length) == 0 && listen(listener, 8) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)here, &length) == 0);
    return listener;
}

/* Datagrams go from the first to the second. */
static UNUSED void udp_pair(int ends[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    ends[1] = socket(AF_INET, SOCK_DGRAM, 0);
    ends[0] = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(bind(ends[1], (struct sockaddr *)&address, length) == 0);
    CHECK(getsockname(ends[1], (struct sockaddr *)&address, &length) == 0);
    CHECK(connect(ends[0], (struct sockaddr *)&address, length) == 0);
}

/* ---- options, children, descriptors ------------------------------------ */

static UNUSED void set_option(int fd, int name, int value) {
    CHECK(setsockopt(fd, IPPROTO_TCP, name, &value, sizeof value) == 0);
}

/* As the program reads it back. */
static UNUSED int option_of(int fd, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    CHECK(getsockopt(fd, IPPROTO_TCP, name, &value, &length) == 0);
    return value;
}

/* The code with which a child ends by itself. */
static UNUSED int status_of(pid_t child) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* One byte, and a descriptor beside it. */
static UNUSED void send_descriptor(int over, int fd, bool by_sendmmsg) {
    char byte = 'x', control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec piece = {&byte, 1};
    struct mmsghdr one = {.msg_hdr = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control}};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&one.msg_hdr);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    CHECK((by_sendmmsg ? sendmmsg(over, &one, 1, 0) : sendmsg(over, &one.msg_hdr, 0)) == 1);
}

static UNUSED int receive_descriptor(int over, int flags) {
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec piece = {&byte, 1};
    struct msghdr header = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    CHECK(recvmsg(over, &header, flags) == 1);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    CHECK(rights && rights->cmsg_type == SCM_RIGHTS);
    int fd;
    memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    return fd;
}

/* ---- meeting the peer ------------------------------------------------- */

/* A connection more, closed at once, by raw calls: harness.ScriptedPeer goes on. */
static UNUSED void tell_peer(client_t client) {
    CHECK(raw_call(SYS_close, connect_unseen(client), 0, 0, 0, 0) == 0);
}

/* Waits, unseen, until all bytes that could leave have left and were acknowledged.  There is no more room
 * than now until the peer reads.  The kernel fills the rest of a window that is smaller than a segment only
 * after 200 ms. */
static UNUSED void await_settled(int fd) {
    static const struct timespec moment = {.tv_nsec = 200000};
    for (long begin = now_us(); now_us() - begin < 10000000;) {
        struct tcp_info info = info_of(fd);
        if (info.tcpi_unacked == 0 && (info.tcpi_notsent_bytes == 0 || info.tcpi_snd_wnd == 0)) return;
        raw_call(SYS_nanosleep, (long)&moment, 0, 0, 0, 0);
    }
    die("not all is acknowledged");
}

/* Computes so long, with no call that a library sees: for how long the kernel kept bytes in it. */
static UNUSED long kept_ms(int fd, int computes_ms) {
    long begin = now_us(), kept = 0;
    while (now_us() - begin < computes_ms * 1000L)
        if (info_of(fd).tcpi_notsent_bytes) kept = now_us() - begin;
    return kept / 1000;
}

/* ---- exchanges -------------------------------------------------------- */

static UNUSED struct {
    long us[MOST];
    int exchanges;
    unsigned segments_before, segments_after;
    unsigned sent_again; /* of them, where a busy machine acknowledges late */
    char extra[2000];
} facts;

/* The message number `index` as its two halves. */
static UNUSED char message[HEADER + BODY];

static UNUSED void next_message(int index) {
    fill(message, sizeof message, (size_t)index * sizeof message);
}

static UNUSED void read_reply(int fd) {
    char reply[REPLY];
    size_t got = 0;
    while (got < sizeof reply) {
        ssize_t n = read(fd, reply + got, sizeof reply - got);
        CHECK(n > 0);
        got += (size_t)n;
    }
}

/* Header and body. */
static UNUSED void write_message(int fd) {
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
}

/* The exchange of a careless program. */
static UNUSED void two_writes(int fd) {
    write_message(fd);
    read_reply(fd);
}

/* The exchange of a careful one. */
static UNUSED void one_write(int fd) {
    CHECK(write(fd, message, sizeof message) == (ssize_t)sizeof message);
    read_reply(fd);
}

/* So many careless ones, from message `first` on. */
static UNUSED void exchange_all(int fd, int first, int count) {
    for (int i = first; i < first + count; i++) {
        next_message(i);
        two_writes(fd);
    }
}

/* Runs and times `count` exchanges, from message `first` on.  mark(i), from 0, opens each, PAUSE closes
 * it. */
static UNUSED void run_exchanges_from(int first, int fd, int count, void (*exchange)(int fd)) {
    facts.exchanges = count;
    for (int i = 0; i < count; i++) {
        if (i == WARM) facts.segments_before = data_segments(fd);
        if (i == WARM) facts.sent_again = info_of(fd).tcpi_total_retrans;
        next_message(first + i);
        long begin = now_us();
        mark(i);
        exchange(fd);
        mark(PAUSE);
        facts.us[i] = now_us() - begin;
    }
    facts.segments_after = data_segments(fd);
    facts.sent_again = info_of(fd).tcpi_total_retrans - facts.sent_again;
}

static UNUSED void run_exchanges(int fd, int count, void (*exchange)(int fd)) {
    run_exchanges_from(0, fd, count, exchange);
}

/* More facts for the report: ADD_FACT("\"seen\": %d", 1). */
#define ADD_FACT(...)                                                                              \
    do {                                                                                           \
        size_t used_ = strlen(facts.extra);                                                        \
        used_ += (size_t)snprintf(facts.extra + used_, sizeof facts.extra - used_, ", ");          \
        snprintf(facts.extra + used_, sizeof facts.extra - used_, __VA_ARGS__);                    \
    } while (0)

static UNUSED bool library_is_loaded(void) {
    static char maps[1 << 16];
    bool found = false;
    FILE *file = fopen("/proc/thread-self/maps", "r"); /* the main thread may have ended */
    while (file && fgets(maps, sizeof maps, file)) found |= strstr(maps, "libunstall") != NULL;
    if (file) fclose(file);
    return found;
}

/* The last line of a client's standard output. */
static UNUSED int report(void) {
    printf("{\"loaded\": %s, \"segments\": %u, \"sent_again\": %u, \"us\": [",
           library_is_loaded() ? "true" : "false", facts.segments_after - facts.segments_before,
           facts.sent_again);
    for (int i = 0; i < facts.exchanges; i++) printf("%s%ld", i ? ", " : "", facts.us[i]);
    printf("]%s}\n", facts.extra);
    return 0;
}

/* A whole client: connect, exchange, report. */
static UNUSED int client_main(int argc, char **argv, void (*exchange)(int fd)) {
    mark(BEGIN);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    run_exchanges(fd, client.count, exchange);
    close(fd);
    mark(END);
    return report();
}

#endif
