/* SPDX-License-Identifier: MIT
 *
 * A library with calls that differ from libc's (test_same.py must find it).
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DESCRIPTORS = 64, STACK = 65536 };

int usleep(useconds_t microseconds) {
    (void)microseconds;
    errno = EIO;
    return -1;
}

int nice(int increment) {
    (void)increment;
    kill(getpid(), SIGKILL);
    return 0;
}

int getdtablesize(void) {
    int on = 1;
    for (int fd = 0; fd < DESCRIPTORS; fd++) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return DESCRIPTORS;
}

int rand(void) {
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int stays(void *unused) {
    (void)unused;
    while (pause() == -1)
        ;
    return 0;
}

int sched_yield(void) {
    static char stack[STACK] __attribute__((aligned(64)));
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    return clone(stays, stack + STACK, flags, NULL);
}
