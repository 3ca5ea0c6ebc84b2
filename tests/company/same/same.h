/* SPDX-License-Identifier: MIT
 *
 * A case is a few calls of which the program must see the same with the library as without.
 * test_same.py runs each case bare and in every mode and compares what it prints, how it ends
 * and what the peer of its connection received; and, if the case returns, the options of its
 * connection that read back, its privileges and its tasks.
 *
 *     CASE(a_name) { SAY(write(fd, nowhere, 5)); }
 *
 * `fd` is a TCP connection whose other end is in this process and is used by raw system calls
 * alone.  Each case runs three times: `cold` (nothing was written yet), `warm` (after exchanges
 * of two small writes, which every mode knows then) and `holding` (a small write more, which
 * the modes that hold have not let go).  So a file of cases is a program:
 *
 *     same-x               lists the cases
 *     same-x CASE STATE    runs one
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../harness/raw.h"

/* Cases make calls that are wrong on purpose. */
#pragma GCC diagnostic ignored "-Wnonnull"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wrestrict"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

#define UNUSED __attribute__((unused))

struct test_case {
    const char *name;
    void (*run)(int fd);
};

#define CASE(name)                                                                  \
    static void name(int fd);                                                       \
    static const struct test_case case_##name = {#name, name};                      \
    static const struct test_case *const ref_##name                                 \
        __attribute__((used, section("cases"))) = &case_##name;                     \
    static void name(int fd UNUSED)

extern const struct test_case *const __start_cases[], *const __stop_cases[];

/* ---- what is compared ------------------------------------------------ */

/* A line of output, out of the library's sight. */
UNUSED __attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    char line[300];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    line[length] = '\n';
    raw3(SYS_write, STDOUT_FILENO, line, length + 1);
}

/* The call, what it returned, and errno where it failed. */
#define SAY(call)                                                                \
    do {                                                                         \
        errno = 0;                                                               \
        long result_ = (long)(call);                                             \
        say("%s: %ld %s", #call, result_, result_ < 0 ? strerrorname_np(errno) : ""); \
    } while (0)

#define NEED(condition)                               \
    do {                                              \
        if (!(condition)) {                           \
            say("no %s: %m", #condition);             \
            raw1(SYS_exit_group, 2);                  \
            __builtin_unreachable();                  \
        }                                             \
    } while (0)

/* ---- addresses that are wrong ---------------------------------------- */

static char *nowhere;       /* a page that may not be read */
static char *end_of_memory; /* the end of one that may; what crosses it is half there */
static char *read_only;     /* a page that may not be written, all zero */
static char *known;         /* a page outside stack and heap that can be read and written, all zero */

static void make_pages(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    known = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(known != MAP_FAILED);
    end_of_memory = nowhere = known + page;
    read_only = nowhere + page;
    NEED(mprotect(nowhere, page, PROT_NONE) == 0 && mprotect(read_only, page, PROT_READ) == 0);
}

/* ---- the connection -------------------------------------------------- */

static int peer; /* its other end */

/* Out of the way of the numbers that a case makes. */
static int high(long fd) {
    long copy = raw3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 200);
    raw1(SYS_close, fd);
    return (int)copy;
}

static int listening(struct sockaddr_in *address, int protocol) {
    socklen_t length = sizeof(*address);
    int listener = high(raw3(SYS_socket, AF_INET, SOCK_STREAM, protocol));
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    NEED(raw3(SYS_bind, listener, address, length) == 0 && raw2(SYS_listen, listener, 5) == 0);
    NEED(raw3(SYS_getsockname, listener, address, &length) == 0);
    return listener;
}

/* The peer is the other end of what was connected. */
static void peer_accepts(int listener) {
    struct timeval limit = {.tv_sec = 3};
    peer = high(raw4(SYS_accept4, listener, 0, 0, 0));
    raw1(SYS_close, listener);
    raw6(SYS_setsockopt, peer, SOL_SOCKET, SO_RCVTIMEO, (long)&limit, sizeof(limit), 0);
}

static int connection(void) {
    struct sockaddr_in address;
    int listener = listening(&address, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    NEED(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    peer_accepts(listener);
    return fd;
}

/* So that no exchange stalls, in no mode: the case is about something else. */
static void acknowledge_at_once(void) {
    int one = 1;
    raw6(SYS_setsockopt, peer, IPPROTO_TCP, TCP_QUICKACK, (long)&one, sizeof(one), 0);
}

/* `bytes` arrive at the peer, in how many pieces soever. */
UNUSED static void peer_takes(long bytes) {
    char buffer[4096];
    while (bytes > 0) {
        long most = bytes < (long)sizeof(buffer) ? bytes : (long)sizeof(buffer);
        long n = raw3(SYS_read, peer, buffer, most);
        NEED(n > 0);
        bytes -= n;
    }
}

static void exchange(int fd) {
    char message[300] = "", answer[100] = "";
    acknowledge_at_once();
    NEED(write(fd, message, 200) == 200 && write(fd, message, 100) == 100);
    poll(NULL, 0, 1); /* a wait: nothing is held after it */
    peer_takes(300);
    NEED(raw3(SYS_write, peer, answer, sizeof(answer)) == sizeof(answer));
    NEED(read(fd, answer, sizeof(answer)) == sizeof(answer));
}

/* How many bytes came, and a sum that knows their order (FNV-1a, 32 bits). */
static void peer_tells(void) {
    unsigned char buffer[4096];
    uint32_t sum = 2166136261U;
    long n, bytes = 0;
    acknowledge_at_once();
    while ((n = raw3(SYS_read, peer, buffer, sizeof(buffer))) > 0) {
        bytes += n;
        for (long i = 0; i < n; i++)
            sum = (sum ^ buffer[i]) * 16777619U;
    }
    say("the peer received %ld bytes, %08x, %s", bytes, sum, n ? strerrorname_np((int)-n) : "the end");
}

/* ---- the process ------------------------------------------------------ */

static void tell_option(int fd, const char *name, int option) {
    int value = -1;
    socklen_t length = sizeof(value);
    int failed = getsockopt(fd, IPPROTO_TCP, option, &value, &length);
    say("%s reads back %d %s", name, value, failed ? strerrorname_np(errno) : "");
}

/* proc_pid_status(5); empty where it cannot be read. */
static const char *status_of_process(void) {
    static char text[8192];
    int fd = (int)raw4(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    long n = raw3(SYS_read, fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    raw1(SYS_close, fd);
    return text;
}

static void tell_privileges(void) {
    static const char *const told[] = {"Uid:", "Gid:", "Cap", "NoNewPrivs:"};
    for (const char *line = status_of_process(); *line; line += strcspn(line, "\n") + 1)
        for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
            if (strncmp(line, told[i], strlen(told[i])) == 0)
                say("%.*s", (int)strcspn(line, "\n"), line);
}

static int tasks(void) {
    const char *line = strstr(status_of_process(), "\nThreads:");
    return line ? atoi(line + strlen("\nThreads:")) : -1;
}

/* The library's thread may be there in a program that has threads; in coalesce in any, which test_same.py
 * knows. */
static void tell_tasks_at_once(void) {
    if (__libc_single_threaded)
        say("tasks at once: %d", tasks());
}

/* It ends when nothing was held for 100 ms; an own thread that was joined may be there for a moment. */
static void tell_tasks_at_the_end(void) {
    static const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < 3000 && tasks() > 1; i++)
        raw2(SYS_nanosleep, &moment, NULL);
    say("tasks at the end: %d", tasks());
}

/* ---- running --------------------------------------------------------- */

enum { EXCHANGES = 6 };

int main(int count, char **words) {
    make_pages();
    for (const struct test_case *const *c = __start_cases; c < __stop_cases; c++) {
        if (count < 3) {
            puts((*c)->name);
            continue;
        }
        if (strcmp(words[1], (*c)->name) != 0)
            continue;
        int fd = connection();
        for (int i = 0; i < EXCHANGES && strcmp(words[2], "cold") != 0; i++)
            exchange(fd);
        if (strcmp(words[2], "holding") == 0)
            NEED(write(fd, "a small write, held here and there\n", 35) == 35);
        (*c)->run(fd);
        tell_tasks_at_once();
        tell_privileges();
        tell_option(fd, "TCP_NODELAY", TCP_NODELAY);
        tell_option(fd, "TCP_CORK", TCP_CORK);
        close(fd);
        peer_tells();
        tell_tasks_at_the_end();
    }
    return 0;
}
