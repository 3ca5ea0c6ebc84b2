/* SPDX-License-Identifier: MIT
 *
 * Waits for descriptors: poll, select, epoll and their other names.
 */
#include "acts.h"

#include <sys/epoll.h>
#include <sys/select.h>

extern int other_poll(struct pollfd *, nfds_t, int) SYMBOL("__poll");
extern int poll_chk(struct pollfd *, nfds_t, int, size_t) SYMBOL("__poll_chk");
extern int ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t)
    SYMBOL("__ppoll_chk");
extern int other_select(int, fd_set *, fd_set *, fd_set *, struct timeval *) SYMBOL("__select");

static struct pollfd nothing[1];
static struct epoll_event event;
static int queue;

static void epoll_queue(void) {
    queue = epoll_create1(EPOLL_CLOEXEC);
    if (queue < 0)
        fail("epoll_create1");
}

static const struct timespec span = {.tv_nsec = WAIT_MS * 1000000};
#define TIMEVAL (&(struct timeval){.tv_usec = WAIT_MS * 1000})

ACT(poll, NULL, 0, poll(nothing, 0, WAIT_MS))
ACT(__poll, NULL, 0, other_poll(nothing, 0, WAIT_MS))
ACT(__poll_chk, NULL, 0, poll_chk(nothing, 0, WAIT_MS, sizeof nothing))
ACT(ppoll, NULL, 0, ppoll(nothing, 0, &span, NULL))
ACT(__ppoll_chk, NULL, 0, ppoll_chk(nothing, 0, &span, NULL, sizeof nothing))
ACT(select, NULL, 0, select(0, NULL, NULL, NULL, TIMEVAL))
ACT(__select, NULL, 0, other_select(0, NULL, NULL, NULL, TIMEVAL))
ACT(pselect, NULL, 0, pselect(0, NULL, NULL, NULL, &span, NULL))
ACT(epoll_wait, epoll_queue, 0, epoll_wait(queue, &event, 1, WAIT_MS))
ACT(epoll_pwait, epoll_queue, 0, epoll_pwait(queue, &event, 1, WAIT_MS, NULL))
ACT(epoll_pwait2, epoll_queue, 0, epoll_pwait2(queue, &event, 1, &span, NULL))

/* for the answer, as most programs do */
ACT_AS(poll_answer, "poll for the answer", NULL, 0,
       poll(&(struct pollfd){.fd = connection, .events = POLLIN}, 1, WAIT_MS))
ACT_AS(poll_in_out, "poll for reading or writing another", NULL, 0,
       poll((struct pollfd[]){{.fd = connection, .events = POLLIN}, {.fd = -1, .events = POLLOUT}},
            2, WAIT_MS))

/* Room that is not there: asked first, but not waited for. */
static int full;

static void no_room(void) {
    int ends[2];
    full_pair(ends);
    full = ends[1];
}

static fd_set *only(fd_set *set, int fd) {
    FD_ZERO(set);
    FD_SET(fd, set);
    return set;
}

ACT_AS(poll_no_room, "poll for room that is not there", no_room, 0,
       poll(&(struct pollfd){.fd = full, .events = POLLOUT}, 1, WAIT_MS))
ACT_AS(select_no_room, "select for room that is not there", no_room, 0,
       select(full + 1, NULL, only(&(fd_set){0}, full), NULL, TIMEVAL))
ACT_AS(poll_hang_up, "poll for a hang-up alone", no_room, 0,
       poll(&(struct pollfd){.fd = full}, 1, WAIT_MS))

/* the connection has not learned anything from it */
ACT_AS(poll_twice, "poll for room, then a wait", no_room, 0,
       (poll(&(struct pollfd){.fd = full, .events = POLLOUT}, 1, 10), hold_now(connection),
        poll(NULL, 0, WAIT_MS)))
