/* SPDX-License-Identifier: MIT
 *
 * Options set and read by libc's names and by syscall(2), and out of the library's sight.
 */
#include "same.h"

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
