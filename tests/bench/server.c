/* SPDX-License-Identifier: MIT
 *
 * A server that answers each request in two writes: a header, then a body.  It takes as many requests as a
 * read gives it (load.c sends them), and answers them all before it reads again.
 *
 * Usage: server epoll|threads WAY      (prints its port)
 *
 * `threads` gives each connection a thread of its own, which reads and writes by
 * calls that block.
 */
#include <pthread.h>

#include "message.h"

enum { HEADER = 200, BODY = 300, EVENTS = 64, DESCRIPTORS = 65536 };

static enum way way;
static char answer[HEADER + BODY];
static const unsigned pieces[] = {HEADER, BODY};

static int accepted(int listener) {
    int fd = accept(listener, NULL, NULL);
    if (fd < 0)
        die("accept");
    if (way == WAY_NODELAY)
        set_option(fd, TCP_NODELAY, 1);
    return fd;
}

/* False: the connection has ended. */
static bool answer_all(int fd) {
    static uint8_t begun[DESCRIPTORS]; /* bytes of an unfinished request */
    char requests[64 * REQUEST];
    ssize_t got = fd < DESCRIPTORS ? read(fd, requests, sizeof(requests)) : -1;
    if (got <= 0)
        return false;
    size_t bytes = begun[fd] + (size_t)got;
    begun[fd] = (uint8_t)(bytes % REQUEST);
    for (size_t i = 0; i < bytes / REQUEST; i++)
        if (!send_message(fd, way, answer, pieces, 2))
            return false;
    return true;
}

static void add(int epoll, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        die("epoll_ctl");
}

static void by_epoll(int listener) {
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(0);
    add(epoll, listener);
    for (;;) {
        int ready = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (fd == listener)
                add(epoll, accepted(listener));
            else if (!answer_all(fd))
                close(fd);
        }
    }
}

static void *serve(void *fd) {
    while (answer_all((int)(intptr_t)fd))
        ;
    close((int)(intptr_t)fd);
    return NULL;
}

static void by_threads(int listener) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, &small, serve, (void *)(intptr_t)accepted(listener)) != 0)
            die("pthread_create");
    }
}

static void stop(int number) {
    (void)number;
    _exit(0);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: server epoll|threads WAY\n");
        return 2;
    }
    way = way_called(argv[2]);
    signal(SIGTERM, stop);
    signal(SIGPIPE, SIG_IGN);
    end_with_parent();
    many_descriptors();
    int listener = listen_and_say(4096);
    if (strcmp(argv[1], "threads") == 0)
        by_threads(listener);
    by_epoll(listener);
}
