/* SPDX-License-Identifier: MIT
 *
 * Options set and read by libc's names and by syscall(2), and out of the library's sight.
 */
#include "same.h"

#include <linux/close_range.h>
#include <sys/resource.h>

static void set(int fd, int on, int by) {
    long result = by == 0   ? setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on))
                  : by == 1 ? syscall(SYS_setsockopt, fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on))
                            : raw6(SYS_setsockopt, fd, IPPROTO_TCP, TCP_NODELAY, (long)&on, 4, 0);
    say("set %d: %ld", on, result);
}

static void tell(int fd) {
    int libc = -1, call = -1;
    socklen_t length = sizeof(libc);
    SAY(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &libc, &length));
    SAY(syscall(SYS_getsockopt, fd, IPPROTO_TCP, TCP_NODELAY, &call, &length));
    say("libc %d, syscall %d", libc, call);
}

CASE(by_libc) {
    tell(fd);
    set(fd, 1, 0);
    tell(fd);
    set(fd, 0, 0);
    tell(fd);
}

CASE(by_syscall) {
    tell(fd);
    set(fd, 1, 1);
    tell(fd);
    set(fd, 0, 1);
    tell(fd);
}

CASE(by_each_in_turn) {
    set(fd, 1, 0);
    set(fd, 0, 1);
    tell(fd);
    set(fd, 1, 1);
    set(fd, 0, 0);
    tell(fd);
    set(fd, 1, 1);
    SAY(write(fd, "one", 3));
    SAY(write(fd, "two", 3));
    tell(fd);
}

CASE(set_unseen) {
    SAY(poll(NULL, 0, 1));
    set(fd, 1, 2);
    tell(fd);
}

CASE(a_cork_by_syscall) {
    int on = 1, cork = -1;
    socklen_t length = sizeof(cork);
    SAY(syscall(SYS_setsockopt, fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)));
    SAY(write(fd, "one", 3));
    SAY(write(fd, "two", 3));
    SAY(getsockopt(fd, IPPROTO_TCP, TCP_CORK, &cork, &length));
    say("cork %d", cork);
    on = 0;
    SAY(syscall(SYS_setsockopt, fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)));
}

CASE(a_short_answer) {
    unsigned char bytes[4] = {9, 9, 9, 9};
    socklen_t length = 1;
    SAY(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, bytes, &length));
    say("length %u: %d %d", length, bytes[0], bytes[1]);
}

/* A refused dup2, dup3 or close_range made us forget the connection: it read back TCP_NODELAY=1. */
#define STAYS(call)               \
    do {                          \
        SAY(call);                \
        SAY(write(fd, "one", 3)); \
        SAY(write(fd, "two", 3)); \
        tell(fd);                 \
    } while (0)

CASE(a_close_that_fails) {
    enum { FLAGS_NOT_KNOWN = 1 << 20 };
    struct rlimit before, below;
    NEED(getrlimit(RLIMIT_NOFILE, &before) == 0);
    below = (struct rlimit){(rlim_t)fd, before.rlim_max};
    STAYS(dup2(-1, fd));
    STAYS(dup3(-1, fd, O_CLOEXEC));
    STAYS(dup3(0, fd, FLAGS_NOT_KNOWN));
    STAYS(dup3(0, fd, O_NONBLOCK));
    STAYS(close_range((unsigned)fd, (unsigned)fd, FLAGS_NOT_KNOWN));
    STAYS(close_range(0, ~0U, CLOSE_RANGE_CLOEXEC | FLAGS_NOT_KNOWN));
    STAYS(close_range((unsigned)fd + 1, (unsigned)fd, 0));
    STAYS(syscall(SYS_close_range, fd, fd, FLAGS_NOT_KNOWN));
    NEED(setrlimit(RLIMIT_NOFILE, &below) == 0);
    STAYS(dup2(0, fd)); /* a number that may not be given any more */
    NEED(setrlimit(RLIMIT_NOFILE, &before) == 0);
}
