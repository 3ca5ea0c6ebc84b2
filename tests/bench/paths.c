/* SPDX-License-Identifier: MIT
 *
 * The hot paths of the library, each made many times, for instructions.py to
 * count under callgrind.
 *
 * Usage: paths [ROUNDS [NAME]]     NAME: this path alone, for callgrind_annotate
 *
 * Only the call itself is counted (collection is switched on around it).  All calls around it, the peer's
 * part included, are raw system calls that do not pass by the library, in one process and one thread, so that
 * the counts are the same in every run.  Each path ends with a dump that bears its name.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include "../../src/preload/sys/raw.h"

#define NOINLINE __attribute__((noinline))

static char bytes[4096];
static int rounds = 256;
static const char *only; /* one path, whole, without switching */

#define COUNTED(call)                 \
    do {                              \
        if (!only)                    \
            CALLGRIND_TOGGLE_COLLECT; \
        long result = (long)(call);   \
        if (!only)                    \
            CALLGRIND_TOGGLE_COLLECT; \
        if (result < 0)               \
            die(#call);               \
    } while (0)

static void zero(void) {
    if (!only)
        CALLGRIND_ZERO_STATS;
}

static void die(const char *what) {
    fprintf(stderr, "paths: %s: %s\n", what, strerror(errno));
    exit(1);
}

static long raw_ok(const char *what, long result) {
    if (result < 0) {
        errno = (int)-result;
        die(what);
    }
    return result;
}

#define RAW(call) raw_ok(#call, call)

/* ---- a connection with its other end unseen by the library ------------- */

struct pair {
    int here, there;
};

static struct pair connected(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    struct pair p;
    int listener = (int)RAW(raw3(SYS_socket, AF_INET, SOCK_STREAM, 0));
    RAW(raw3(SYS_bind, listener, &address, length));
    RAW(raw2(SYS_listen, listener, 1));
    RAW(raw3(SYS_getsockname, listener, &address, &length));
    p.here = socket(AF_INET, SOCK_STREAM, 0);
    if (p.here < 0 || connect(p.here, (struct sockaddr *)&address, length) != 0)
        die("connect");
    p.there = (int)RAW(raw4(SYS_accept4, listener, NULL, NULL, 0));
    RAW(raw1(SYS_close, listener));
    return p;
}

static void there_takes(struct pair p, size_t wanted) {
    static char sink[4096];
    while (wanted)
        wanted -= (size_t)RAW(raw6(SYS_recvfrom, p.there, (long)sink, (long)wanted, 0, 0, 0));
}

static void there_answers(struct pair p) {
    RAW(raw6(SYS_sendto, p.there, (long)bytes, 50, 0, 0, 0));
}

static void finish(struct pair p) {
    close(p.here);
    RAW(raw1(SYS_close, p.there));
}

/* ---- paths ------------------------------------------------------------- */

static void pipe_write(void) {
    int ends[2];
    RAW(raw2(SYS_pipe2, ends, 0));
    for (int i = -8; i < rounds; i++) {
        if (i == 0)
            zero();
        COUNTED(write(ends[1], bytes, 1));
        RAW(raw3(SYS_read, ends[0], bytes, 1));
    }
}

static void pipe_read(void) {
    int ends[2];
    RAW(raw2(SYS_pipe2, ends, 0));
    for (int i = -8; i < rounds; i++) {
        if (i == 0)
            zero();
        RAW(raw3(SYS_write, ends[1], bytes, 1));
        COUNTED(read(ends[0], bytes, 1));
    }
}

static void poll_with_nothing_held(void) {
    zero();
    for (int i = 0; i < rounds; i++)
        COUNTED(poll(NULL, 0, 0));
}

/* Counts the call `wait`, in an exchange of `writes` writes. */
enum counted { COUNT_WRITE, COUNT_LAST_WRITE, COUNT_POLL, COUNT_READ };

static void exchange(struct pair p, int writes, bool polls, enum counted what) {
    struct pollfd wait = {.fd = p.here, .events = POLLIN};
    for (int i = 1; i <= writes; i++) {
        bool count =
            (what == COUNT_LAST_WRITE && i == writes) || (what == COUNT_WRITE && i < writes);
        if (count)
            COUNTED(write(p.here, bytes, 100));
        else if (write(p.here, bytes, 100) != 100)
            die("write");
    }
    there_answers(p);
    if (polls && what == COUNT_POLL)
        COUNTED(poll(&wait, 1, 1000));
    else if (polls && poll(&wait, 1, 1000) != 1)
        die("poll");
    if (what == COUNT_READ)
        COUNTED(read(p.here, bytes, sizeof(bytes)));
    else if (read(p.here, bytes, sizeof(bytes)) <= 0)
        die("read");
    there_takes(p, (size_t)writes * 100);
}

static void exchanges(int writes, bool polls, enum counted what) {
    struct pair p = connected();
    for (int i = -16; i < rounds; i++) {
        if (i == 0)
            zero();
        exchange(p, writes, polls, what);
    }
    finish(p);
}

#define PATH(name)                            \
    do {                                      \
        if (only && strcmp(only, #name) != 0) \
            break;                            \
        name();                               \
        if (!only)                            \
            CALLGRIND_DUMP_STATS_AT(#name);   \
    } while (0)

#define EXCHANGES(name, ...)          \
    static NOINLINE void name(void) { \
        exchanges(__VA_ARGS__);       \
    }
EXCHANGES(plain_write, 1, false, COUNT_LAST_WRITE)
EXCHANGES(plain_read, 1, false, COUNT_READ)
EXCHANGES(plain_poll, 1, true, COUNT_POLL)
EXCHANGES(read_after_poll, 1, true, COUNT_READ)
EXCHANGES(first_of_two, 2, false, COUNT_WRITE)
EXCHANGES(last_of_two, 2, false, COUNT_LAST_WRITE)
EXCHANGES(read_after_two, 2, false, COUNT_READ)
EXCHANGES(poll_after_two, 2, true, COUNT_POLL)

int main(int argc, char **argv) {
    if (argc > 1)
        rounds = atoi(argv[1]);
    only = argc > 2 ? argv[2] : NULL;
    PATH(pipe_write);
    PATH(pipe_read);
    PATH(poll_with_nothing_held);
    PATH(plain_write);
    PATH(plain_read);
    PATH(plain_poll);
    PATH(read_after_poll);
    PATH(first_of_two);
    PATH(last_of_two);
    PATH(read_after_two);
    PATH(poll_after_two);
    return 0;
}
