/* SPDX-License-Identifier: MIT
 *
 * Threads, signals and waits for other descriptors in the midst of small writes.
 */
#include "combined.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
static void *writes_twice(void *argument) {
    int fd = *(int *)argument;
    NEED(write(fd, "thread", 6) == 6);
    NEED(write(fd, "writes", 6) == 6);
    return NULL;
}

CASE(threads_come_and_go) {
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        NEED(write(fd, "main", 4) == 4);
        NEED(pthread_create(&thread, NULL, writes_twice, &fd) == 0);
        NEED(pthread_join(thread, NULL) == 0);
        NEED(write(fd, "joined", 6) == 6);
    }
}

static void *forks(void *argument) {
    int fd = *(int *)argument;
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        NEED(waitpid(child, NULL, 0) == child);
    }
    return fd >= 0 ? NULL : argument;
}

CASE(a_thread_forks_while_another_writes) {
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, forks, &fd) == 0);
    for (int i = 0; i < 200; i++)
        NEED(write(fd, "0123456789abcdef", (size_t)(1 + i % 16)) == 1 + i % 16);
    NEED(pthread_join(thread, NULL) == 0);
}

static int main_leaves;

static void *main_has_gone(void *argument) {
    int fd = *(int *)argument;
    while (!__atomic_load_n(&main_leaves, __ATOMIC_ACQUIRE))
        raw0(SYS_sched_yield);
    poll(NULL, 0, 5);
    NEED(write(fd, "main", 4) == 4);
    NEED(write(fd, "has gone", 8) == 8);
    exit(7);
}

CASE(main_ends_before_its_thread) {
    pid_t child = fork();
    if (child == 0) {
        static int number;
        number = fd;
        pthread_t thread;
        NEED(write(fd, "main", 4) == 4);
        NEED(pthread_create(&thread, NULL, main_has_gone, &number) == 0);
        NEED(write(fd, "leaves", 6) == 6);
        __atomic_store_n(&main_leaves, 1, __ATOMIC_RELEASE);
        pthread_exit(NULL);
    }
    wait_unseen(child);
}

static int handled;

static void writes_in_a_handler(int number) {
    (void)number;
    write(handled, "handler", 7);
    write(handled, "writes", 6);
}

CASE(handlers_write_in_between) {
    handled = fd;
    signal(SIGUSR1, writes_in_a_handler);
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "one", 3));
        SAY(raise(SIGUSR1));
        SAY(write(fd, "two", 3));
    }
}

static int handlers_pipe[2];

static void writes_to_a_pipe(int number) {
    (void)number;
    write(handlers_pipe[1], "x", 1);
}

/* After a wait that is asked first the open turn was taken for granted (SIGSEGV). */
static void waits_for_room(int fd, bool by_ppoll) {
    static char much[1 << 20];
    static const struct timespec second = {.tv_sec = 1};
    sigset_t one, none;
    int full[2];
    NEED(pipe(handlers_pipe) == 0 && pipe2(full, O_NONBLOCK) == 0);
    NEED(raw3(SYS_write, full[1], much, sizeof much) > 0);
    sigemptyset(&none);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, NULL);
    signal(SIGUSR1, writes_to_a_pipe);
    for (int i = 0; i < 2; i++) {
        struct pollfd room = {.fd = full[1], .events = POLLOUT};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(full[1], &set);
        raise(SIGUSR1);
        SAY(by_ppoll ? ppoll(&room, 1, &second, &none)
                     : pselect(full[1] + 1, NULL, &set, NULL, &second, &none));
        SAY(write(fd, "one", 3));
    }
}

CASE(a_handler_ends_the_turn_within_ppoll) {
    waits_for_room(fd, true);
}

CASE(a_handler_ends_the_turn_within_pselect) {
    waits_for_room(fd, false);
}

static void nothing(int number) {
    (void)number;
}

static void alarm_every(int us, int flags) {
    struct sigaction action = {.sa_handler = nothing, .sa_flags = flags};
    struct itimerval every = {{0, us}, {0, us}};
    NEED(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
}

static void no_alarm(void) {
    NEED(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL) == 0);
}

CASE(alarms_interrupt_a_wait) {
    char answer[10];
    SAY(write(fd, "one", 3));
    SAY(write(fd, "two", 3));
    alarm_every(5000, 0);
    SAY(read(fd, answer, sizeof answer));
    SAY(poll(&(struct pollfd){fd, POLLIN, 0}, 1, 3000));
    SAY(select(0, NULL, NULL, NULL, &(struct timeval){3, 0}));
    SAY(recv(fd, answer, sizeof answer, 0));
    no_alarm();
    SAY(write(fd, "three", 5));
}

CASE(alarms_while_small_writes_go_on) {
    alarm_every(300, SA_RESTART);
    for (int i = 0; i < 2000; i++)
        NEED(write(fd, "0123456789", (size_t)(1 + i % 10)) == 1 + i % 10);
    no_alarm();
}

CASE(waits_for_other_descriptors) {
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    uint64_t value = 0;
    struct itimerspec soon = {.it_value.tv_nsec = 2000000};
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "one", 3));
        SAY(write(fd, "two", 3));
        SAY(timerfd_settime(timer, 0, &soon, NULL));
        SAY(read(timer, &value, sizeof value));
    }
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    int signals = signalfd(-1, &usr1, 0);
    struct signalfd_siginfo info;
    SAY(write(fd, "three", 5));
    SAY(raise(SIGUSR1));
    SAY(read(signals, &info, sizeof info));
    int event = eventfd(1, EFD_SEMAPHORE);
    SAY(write(fd, "four", 4));
    SAY(read(event, &value, sizeof value));
    SAY(write(fd, "five", 4));
}

CASE(edges_of_epoll) {
    int ready = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP}, got = {0};
    SAY(epoll_ctl(ready, EPOLL_CTL_ADD, fd, &wanted));
    SAY(epoll_wait(ready, &got, 1, 100));
    say("%x", got.events);
    SAY(write(fd, "one", 3));
    SAY(write(fd, "two", 3));
    SAY(epoll_wait(ready, &got, 1, 0));
    peer_answers("answer");
    SAY(epoll_wait(ready, &got, 1, 3000));
    say("%x", got.events);
    int copy = dup(fd);
    SAY(epoll_ctl(ready, EPOLL_CTL_ADD, copy, &wanted));
    SAY(close(copy));
    SAY(write(fd, "three", 5));
    raw2(SYS_shutdown, peer, SHUT_WR);
    for (int i = 0; i < 300 && !(got.events & EPOLLRDHUP); i++)
        epoll_wait(ready, &got, 1, 10);
    say("%x", got.events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP));
}

static int signalled;

static void counts(int number) {
    (void)number;
    signalled++;
}

CASE(told_by_a_signal) {
    signal(SIGIO, counts);
    SAY(fcntl(fd, F_SETOWN, getpid()));
    SAY(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
    SAY(write(fd, "one", 3));
    SAY(write(fd, "two", 3));
    signalled = 0;
    peer_answers("answer");
    for (int i = 0; i < 300 && !signalled; i++)
        poll(NULL, 0, 10);
    say("signalled: %d", signalled > 0);
    char answer[10];
    SAY(read(fd, answer, sizeof answer));
    SAY(read(fd, answer, sizeof answer));
}
