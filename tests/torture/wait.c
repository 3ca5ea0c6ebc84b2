/* SPDX-License-Identifier: MIT
 *
 * Waits, seen and unseen, and the program's own options.
 */
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "torture.h"

static void wait_epoll(struct actor *a, struct link *link, int ms) {
    int ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | (once_in(a, 2) ? EPOLLET : 0U)};
    epoll_ctl(ep, EPOLL_CTL_ADD, link->fd, &event);
    if (once_in(a, 2))
        epoll_wait(ep, &event, 1, ms);
    else
        epoll_pwait(ep, &event, 1, ms, NULL);
    close(ep);
}

static void wait_select(struct actor *a, struct link *link, int ms) {
    fd_set in, out;
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_SET(link->fd, &in);
    FD_SET(link->fd, &out);
    struct timeval limit = {.tv_usec = ms * 1000};
    struct timespec same = {.tv_nsec = ms * 1000000L};
    bool room = once_in(a, 3);
    if (once_in(a, 2))
        select(link->fd + 1, &in, room ? &out : NULL, NULL, &limit);
    else
        pselect(link->fd + 1, &in, room ? &out : NULL, NULL, &same, NULL);
}

static void wait_poll(struct actor *a, struct link *link, int ms) {
    static const short events[] = {POLLIN, POLLOUT, POLLIN | POLLOUT, POLLIN};
    struct pollfd ready = {.fd = link->fd, .events = events[below(a, 4)]};
    struct timespec same = {.tv_nsec = ms * 1000000L};
    int n = once_in(a, 2) ? poll(&ready, 1, ms) : ppoll(&ready, 1, &same, NULL);
    if (n > 0 && ready.revents & (POLLERR | POLLHUP | POLLNVAL))
        violation(a, link, "poll says %x", (unsigned)ready.revents);
}

/* A futex, as inside libc: the library does not see it. */
static void wait_unseen(int ms) {
    uint32_t word = 0;
    struct timespec limit = {.tv_nsec = ms * 1000000L};
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0);
}

/* Compute on without waiting for anything. */
static void compute(int ms) {
    uint64_t until = now_ns() + (uint64_t)ms * 1000000;
    while (now_ns() < until)
        sched_yield();
}

static void wait_semaphore(int ms) {
    sem_t semaphore;
    struct timespec until;
    sem_init(&semaphore, 0, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000L;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    sem_timedwait(&semaphore, &until);
    sem_destroy(&semaphore);
}

void op_wait(struct actor *a, struct link *link) {
    int ms = (int)below(a, 4);
    uint32_t how = below(a, 10);
    note(a, link, "wait %u %d ms", how, ms);
    struct timespec same = {.tv_nsec = ms * 1000000L};
    switch (how) {
    case 0:
    case 1:
        wait_poll(a, link, ms);
        break;
    case 2:
        wait_select(a, link, ms);
        break;
    case 3:
        wait_epoll(a, link, ms);
        break;
    case 4:
        nanosleep(&same, NULL);
        break;
    case 5:
        usleep((useconds_t)ms * 1000);
        break;
    case 6:
        wait_unseen(ms + 1);
        break;
    case 7:
        compute(ms);
        break;
    case 8:
        wait_semaphore(ms);
        break;
    default:
        clock_nanosleep(CLOCK_MONOTONIC, 0, &same, NULL);
        break;
    }
}

static void set(struct actor *a, struct link *link, int name, int value) {
    if (setsockopt(link->fd, IPPROTO_TCP, name, &value, sizeof(value)) != 0)
        violation(a, link, "setsockopt %d=%d: %s", name, value, strerror(errno));
}

/* The program reads back the value that it set. */
static void check_options(struct actor *a, struct link *link) {
    int nodelay = -1, cork = -1, error = -1;
    socklen_t length = sizeof(int);
    if (getsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &length) != 0 ||
        getsockopt(link->fd, IPPROTO_TCP, TCP_CORK, &cork, &length) != 0 ||
        getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        violation(a, link, "getsockopt: %s", strerror(errno));
    if ((nodelay != 0) != link->nodelay || (cork != 0) != link->cork || error)
        violation(a, link, "TCP_NODELAY=%d (set: %d), TCP_CORK=%d (set: %d), SO_ERROR=%d", nodelay,
                  link->nodelay, cork, link->cork, error);
}

void op_option(struct actor *a, struct link *link) {
    switch (below(a, 5)) {
    case 0:
        link->cork = true;
        note(a, link, "cork");
        set(a, link, TCP_CORK, 1);
        link_keeps(link);
        break;
    case 1:
        link_release(a, link);
        break;
    case 2:
        link->nodelay = !once_in(a, 3);
        note(a, link, "nodelay %d", link->nodelay);
        set(a, link, TCP_NODELAY, link->nodelay);
        break;
    case 3:
        note(a, link, "nonblocking %d", !link->nonblocking);
        set_nonblocking(a, link, !link->nonblocking);
        break;
    default:
        check_options(a, link);
        break;
    }
}
