/* SPDX-License-Identifier: MIT
 *
 * Connections, their numbers and options, and how a program ends.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#ifndef PROGRAM
#define PROGRAM client_one_each
#endif
#include "session.h"

/* Header, body and reply, each time on a connection of its own.  The fact `segments`: the most data
 * segments that a connection after the first has sent. */
static void client_one_each(void) {
    unsigned most = 0;
    for (int i = 0; i < client.count; i++) {
        int fd = connect_to(client);
        two_writes(fd);
        unsigned sent = data_segments(fd);
        if (i > 0 && sent > most) most = sent;
        close(fd);
    }
    ADD_FACT("\"segments\": %u", most);
}

/* Many connections at once, each with bursts in turn: a table beyond its first page. */
enum { CONNECTIONS = 1200 };

static int fds[CONNECTIONS];

static void many_connections(void) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int i = 0; i < CONNECTIONS; i++) fds[i] = connect_to(client);
    for (int round = 0; round < 4; round++) {
        next_message(round);
        for (int i = 0; i < CONNECTIONS; i += 100) {
            long begin = now_us();
            two_writes(fds[i]);
            if (round > 0) facts.us[facts.exchanges++] = now_us() - begin;
        }
    }
    for (int i = 0; i < CONNECTIONS; i++) close(fds[i]);
}

/* The connection moves by dup2 to the number argv[4] (0: as high as the limit
 * allows) and its first number is closed: still one connection, still cured. */
static int highest(void) {
    struct rlimit limit = {1048576, 1048576};
    /* Only root may raise the hard limit: the others go as far as they may. */
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
        limit.rlim_cur = limit.rlim_max;
        CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    }
    return (int)limit.rlim_cur - 1;
}

static void dup2_away(void) {
    int low = connect_to(client), top = highest();
    int wanted = atoi(how) > 0 ? atoi(how) : top;
    int fd = wanted < top ? wanted : top;
    exchange_all(low, 0, 2);
    CHECK(dup2(low, fd) == fd);
    next_message(2);
    CHECK(write(low, message, HEADER) == HEADER);
    CHECK(close(low) == 0);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    run_exchanges_from(3, fd, client.count - 3, two_writes);
    ADD_FACT("\"number\": %d", fd);
    close(fd);
}

/* Sets TCP_NODELAY and TCP_CORK in every way, writes in bursts in between, and prints the values that it
 * reads back: the lines must equal a bare run's. */
static int fd, copy, exchanges;

static void show(const char *when, int descriptor, int name, socklen_t length) {
    unsigned char value[8];
    memset(value, 0xEE, sizeof value);
    errno = 0;
    int result = getsockopt(descriptor, IPPROTO_TCP, name, value, &length);
    printf("%s %s: %d %s length %u value", when, name == TCP_NODELAY ? "NODELAY" : "CORK", result,
           result ? strerror(errno) : "ok", (unsigned)length);
    for (size_t i = 0; i < sizeof value; i++) printf(" %02x", value[i]);
    printf("\n");
}

static void show_all(const char *when) {
    static const int names[] = {TCP_NODELAY, TCP_CORK};
    static const socklen_t lengths[] = {4, 8, 3, 1, 0, (socklen_t)-1};
    for (int n = 0; n < 2; n++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            show(when, fd, names[n], lengths[l]);
            show(when, copy, names[n], lengths[l]);
        }
}

static void burst(int count) {
    for (int i = 0; i < count; i++) {
        next_message(exchanges++);
        CHECK(write(fd, message, HEADER) == HEADER);
        CHECK(write(copy, message + HEADER, BODY) == BODY);
        read_reply(fd);
    }
}

static void set(const char *what, int descriptor, int name, const void *value, socklen_t length) {
    errno = 0;
    int result = setsockopt(descriptor, IPPROTO_TCP, name, value, length);
    printf("%s: %d %s\n", what, result, result ? strerror(errno) : "ok");
    show_all(what);
}

static void options_read_back(void) {
    static const int zero, one = 1, two = 2, minus = -1;
    static const long wide = 1;
    fd = connect_to(client);
    CHECK((copy = dup(fd)) >= 0);
    show_all("made");
    burst(3);
    show_all("after a burst");
    set("nodelay 1", fd, TCP_NODELAY, &one, sizeof one);
    burst(2);
    show_all("nodelay 1, burst");
    set("nodelay 0", copy, TCP_NODELAY, &zero, sizeof zero);
    burst(2);
    show_all("nodelay 0, burst");
    set("nodelay 2", fd, TCP_NODELAY, &two, sizeof two);
    set("nodelay too short", fd, TCP_NODELAY, &zero, 3);
    set("nodelay nowhere", fd, TCP_NODELAY, NULL, sizeof zero);
    set("nodelay by a long", fd, TCP_NODELAY, &wide, sizeof wide);
    set("nodelay -1", fd, TCP_NODELAY, &minus, sizeof minus);
    set("nodelay 0", fd, TCP_NODELAY, &zero, sizeof zero);
    set("cork 1", fd, TCP_CORK, &one, sizeof one);
    set("cork and nodelay", copy, TCP_NODELAY, &one, sizeof one);
    set("cork 0", copy, TCP_CORK, &zero, sizeof zero);
    set("nodelay 0", copy, TCP_NODELAY, &zero, sizeof zero);
    set("cork too short", fd, TCP_CORK, &one, 1);
    burst(2);
    show_all("end");
    close(copy);
    errno = 0;
    show("closed", copy, TCP_NODELAY, sizeof one);
    close(fd);
}

/* An application that sets TCP_QUICKACK itself, to its fourth argument. */
static void app_quickack(void) {
    int on = client.protocol;
    client.protocol = 0;
    int fd = connect_to(client);
    set_option(fd, TCP_QUICKACK, on);
    run_exchanges(fd, client.count, one_write);
    close(fd);
}

/* Exchanges by one name that writes and one that reads, until the library knows the connection well.  Then
 * each further name is called for the first time in this process.
 *
 * ADDRESS PORT COUNT 0 PAIR, the number of the pair: 0 write and read, 1 send and recv, and so on. */
static char reply[REPLY];

static bool put(int fd, int name) {
    struct iovec whole = {message, sizeof message};
    struct msghdr told = {.msg_iov = &whole, .msg_iovlen = 1};
    switch (name) {
    case 0: return write(fd, message, sizeof message) == sizeof message;
    case 1: return send(fd, message, sizeof message, 0) == sizeof message;
    case 2: return writev(fd, &whole, 1) == sizeof message;
    case 3: return sendto(fd, message, sizeof message, 0, NULL, 0) == sizeof message;
    default: return sendmsg(fd, &told, 0) == sizeof message;
    }
}

static ssize_t take(int fd, int name) {
    struct iovec whole = {reply, sizeof reply};
    struct msghdr told = {.msg_iov = &whole, .msg_iovlen = 1};
    switch (name) {
    case 0: return read(fd, reply, sizeof reply);
    case 1: return recv(fd, reply, sizeof reply, MSG_WAITALL);
    case 2: return readv(fd, &whole, 1);
    case 3: return recvfrom(fd, reply, sizeof reply, MSG_WAITALL, NULL, NULL);
    default: return recvmsg(fd, &told, MSG_WAITALL);
    }
}

enum { NAMES = 5 };

static void put_and_take(int fd, int puts, int takes) {
    CHECK(put(fd, puts) && take(fd, takes) == REPLY);
}

static void names_later(void) {
    int fd = connect_to(client), pair = atoi(how);
    for (int i = 0; i < client.count; i++) put_and_take(fd, pair, pair);
    for (int name = 0; name < NAMES; name++) put_and_take(fd, pair, name);
    for (int name = 0; name < NAMES; name++) put_and_take(fd, name, pair);
}

/* A program that installs a seccomp filter of its own: the calls of statistics end it from then on. */
static const int deadly[] = {SYS_getpid,   SYS_getppid,     SYS_getpeername, SYS_getsockname,
                             SYS_madvise,  SYS_munmap,      SYS_fallocate,   SYS_openat,
                             SYS_fstatfs,  SYS_rt_sigprocmask, SYS_prlimit64, SYS_getsockopt};
enum { DEADLY = sizeof deadly / sizeof *deadly };

static void filter(void) {
    struct sock_filter code[DEADLY + 3];
    int at = 0;
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < DEADLY; i++)
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)deadly[i],
                                                  (unsigned char)(DEADLY - i), 0);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {(unsigned short)at, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

static void stats_filtered(void) {
    bool loaded = library_is_loaded();
    int fd = connect_to(client), second = connect_to(client);
    for (int i = 0; i < 6; i++) two_writes(fd);
    printf("{\"loaded\": %s}\n", loaded ? "true" : "false");
    fflush(stdout);
    filter();
    int third = connect_to(client);
    for (int i = 0; i < 3; i++) {
        two_writes(fd);
        two_writes(second);
        two_writes(third);
    }
    long child = raw_call(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        two_writes(fd);
        close(third);
        _exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid((pid_t)child, &status, 0) == child && status == 0);
    two_writes(fd);
    close(second);
    exit(0);
}

/* Three exchanges, then the process ends as argv[5] says, with exit code 7 where it may. */
static void *leave(void *unused) {
    (void)unused;
    pthread_exit(NULL);
}

static void ends(void) {
    int fd = connect_to(client);
    exchange_all(fd, 0, 3);
    /* The last message has no answer yet: held bytes must not be lost. */
    next_message(3);
    write_message(fd);
    printf("the program's own output\n");
    fflush(stdout);
    fprintf(stderr, "the program's own error\n");
    if (strcmp(how, "exit") == 0) exit(7);
    if (strcmp(how, "_exit") == 0) _exit(7);
    if (strcmp(how, "_Exit") == 0) _Exit(7);
    if (strcmp(how, "quick_exit") == 0) quick_exit(7);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "exec") == 0) {
        char *const words[] = {"sh", "-c", "exit 7", NULL}, *const none[] = {NULL};
        execve("/bin/sh", words, none);
    }
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, leave, NULL) == 0);
        pthread_join(thread, NULL);
    }
    exit(7);
}
