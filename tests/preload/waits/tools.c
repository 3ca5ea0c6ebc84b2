/* SPDX-License-Identifier: MIT
 *
 * Helpers by which several acts make a call block.
 */
#include "acts.h"

#include <string.h>
#include <sys/mman.h>

_Noreturn void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    raw_exit(3);
}

static void fill(int fd) {
    static const char block[4096];
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    size_t size = sizeof block;
    while (size > 0)
        if (write(fd, block, size) < 0)
            size /= 2;
    fcntl(fd, F_SETFL, flags);
}

void full_pipe(int ends[2]) {
    if (pipe(ends) < 0)
        fail("pipe");
    fill(ends[1]);
}

void full_pair(int ends[2]) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        fail("socketpair");
    fill(ends[1]);
}

int scratch_file(void) {
    int fd = memfd_create("scratch", 0);
    if (fd < 0 || write(fd, "0123456789abcdef", 16) != 16 || lseek(fd, 0, SEEK_SET) != 0)
        fail("scratch file");
    return fd;
}

int full_listener(uint16_t *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) < 0 ||
        listen(listener, 0) < 0 || getsockname(listener, (struct sockaddr *)&address, &length) < 0)
        fail("listener");
    for (int i = 0; i < 4; i++) {
        int filler = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (connect(filler, (struct sockaddr *)&address, length) < 0 && errno != EINPROGRESS)
            fail("connect");
    }
    *port = ntohs(address.sin_port);
    return listener;
}

int child_for_a_while(void (*begin)(void), void (*end)(void)) {
    int begun[2];
    char byte = 0;
    if (pipe(begun) < 0)
        fail("pipe");
    int pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        if (begin)
            begin();
        raw3(SYS_write, begun[1], &byte, 1);
        sleep_out_of_sight();
        if (end)
            end();
        raw_exit(0);
    }
    if (read(begun[0], &byte, 1) != 1)
        fail("child");
    close(begun[0]);
    close(begun[1]);
    return pid;
}

long hold_now(int connection) {
    int64_t payload[2] = {now_ns()};
    memcpy(&payload[1], "held....", 8);
    return write(connection, payload, sizeof payload);
}

void raw_sleep_ms(long ms) {
    struct timespec until = after_ms(CLOCK_MONOTONIC, ms);
/* glibc 2.41 says __USE_TIME_BITS64 on 64-bit systems too, which have one call alone. */
#if defined(__USE_TIME_BITS64) && defined(SYS_clock_nanosleep_time64)
    enum { SLEEP = SYS_clock_nanosleep_time64 };
#else
    enum { SLEEP = SYS_clock_nanosleep };
#endif
    while (raw4(SLEEP, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0) == -EINTR)
        ;
}

void sleep_out_of_sight(void) {
    raw_sleep_ms(WAIT_MS);
}

int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

struct timespec after_ms(clockid_t clock, long ms) {
    struct timespec when;
    clock_gettime(clock, &when);
    when.tv_nsec += ms % 1000 * 1000000;
    when.tv_sec += ms / 1000 + when.tv_nsec / 1000000000;
    when.tv_nsec %= 1000000000;
    return when;
}

_Noreturn void raw_exit(int status) {
    for (;;)
        raw1(SYS_exit_group, status);
}
