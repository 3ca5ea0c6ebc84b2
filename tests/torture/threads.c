/* SPDX-License-Identifier: MIT
 *
 * Threads beside the actor's own: one that writes and ends, one that writes and
 * then waits unseen while the actor goes on with the link, one that is
 * cancelled while it waits, or writes.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "torture.h"

struct helper {
    struct actor actor;
    struct link *link;
    uint32_t how;
    uint32_t word; /* futex: 0 at work, 1 written, 2 may end */
    pthread_t thread;
};

static void word_wait(uint32_t *word, uint32_t value) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void word_set(uint32_t *word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void start(struct helper *h, struct actor *a, struct link *link, void *(*run)(void *)) {
    h->actor = *a;
    h->actor.random = random_next(&a->random);
    h->actor.number = (uint16_t)(a->number + 50);
    h->link = link;
    h->word = 0;
    int error = pthread_create(&h->thread, NULL, run, h);
    if (error)
        violation(a, link, "pthread_create: %s", strerror(error));
}

/* ---- writes and ends ------------------------------------------------- */

static void *write_and_end(void *argument) {
    struct helper *h = argument;
    struct timespec forever = {.tv_sec = 1000};
    if (h->how == 2)
        alarm_not_here();
    op_put_small(&h->actor, h->link);
    word_set(&h->word, 1);
    switch (h->how) {
    case 0:
        return NULL;
    case 1:
        pthread_exit(NULL);
    default:
        for (;;)
            nanosleep(&forever, NULL); /* cancelled here; ends the turn */
    }
}

void op_helper(struct actor *a, struct link *link) {
    struct helper h = {.how = below(a, 3)};
    if (a->child)
        return;
    if (h.how == 2 && without & WITHOUT_CANCEL_ASLEEP)
        h.how = 1;
    note(a, link, "helper %u", h.how);
    start(&h, a, link, write_and_end);
    if (h.how == 2) {
        word_wait(&h.word, 0);
        pthread_cancel(h.thread);
    }
    pthread_join(h.thread, NULL);
}

/* ---- writes and waits unseen ----------------------------------------- */

static void *write_and_stay(void *argument) {
    struct helper *h = argument;
    op_put_small(&h->actor, h->link);
    word_set(&h->word, 1);
    word_wait(&h->word, 1);
    return NULL;
}

/* A hold of another thread: this one completes it, ends it, or gives it to a child. */
bool op_elsewhere(struct actor *a, struct link *link) {
    struct helper h = {0};
    bool lives = true;
    if (a->child)
        return true;
    note(a, link, "elsewhere");
    start(&h, a, link, write_and_stay);
    word_wait(&h.word, 0);
    switch (below(a, 6)) {
    case 0:
        op_exchange(a, link);
        break;
    case 1:
        lives = op_fork(a, link);
        break;
    case 2:
        op_move(a, link);
        op_put_small(a, link);
        break;
    case 3:
        op_wait(a, link);
        break;
    case 4:
        op_put_small(a, link);
        break;
    default:
        link_end(a, link);
        lives = false;
        break;
    }
    word_set(&h.word, 2);
    pthread_join(h.thread, NULL);
    return lives;
}

/* ---- cancelled ------------------------------------------------------- */

static void close_later(void *fd) {
    close((int)(intptr_t)fd);
}

static void *wait_for_ever(void *argument) {
    struct helper *h = argument;
    struct pollfd ready = {.fd = h->link->fd, .events = POLLPRI};
    struct epoll_event event = {.events = EPOLLPRI};
    struct timespec forever = {.tv_sec = 1000};
    fd_set set;
    char byte;
    alarm_not_here();
    word_set(&h->word, 1);
    for (;;)
        switch (h->how) {
        case 0:
            recv(h->link->fd, &byte, 1, MSG_PEEK); /* nothing is owed */
            break;
        case 1:
            poll(&ready, 1, -1);
            break;
        case 2:
            FD_ZERO(&set);
            FD_SET(h->link->fd, &set);
            select(h->link->fd + 1, NULL, NULL, &set, NULL);
            break;
        case 3: {
            int ep = epoll_create1(EPOLL_CLOEXEC);
            epoll_ctl(ep, EPOLL_CTL_ADD, h->link->fd, &event);
            pthread_cleanup_push(close_later, (void *)(intptr_t)ep);
            epoll_wait(ep, &event, 1, -1);
            pthread_cleanup_pop(1);
            break;
        }
        default:
            nanosleep(&forever, NULL);
            break;
        }
    return NULL;
}

/* The link goes on though a thread was cancelled that waited for it. */
void op_cancel(struct actor *a, struct link *link) {
    struct helper h = {.how = below(a, 5)};
    struct timespec moment = {.tv_nsec = 200000};
    void *result;
    if (a->child)
        return;
    link_settle(a, link);
    if (link->nonblocking)
        h.how = 1;
    if (without & WITHOUT_CANCEL_ASLEEP) {
        if (link->nonblocking)
            return;
        h.how = 0;
    }
    note(a, link, "cancel %u", h.how);
    start(&h, a, link, wait_for_ever);
    word_wait(&h.word, 0);
    if (once_in(a, 2))
        nanosleep(&moment, NULL);
    link_write_tail(a, link); /* while the other one is blocked on it */
    pthread_cancel(h.thread);
    pthread_join(h.thread, &result);
    if (result != PTHREAD_CANCELED)
        violation(a, link, "a cancelled thread returned %p", result);
    put_all(a, link, 1 + below(a, 200), 0);
}

static void *write_much(void *argument) {
    struct helper *h = argument;
    alarm_not_here();
    word_set(&h->word, 1);
    ssize_t n = write(h->link->fd, stream_at(h->link->number, h->link->sent), LARGEST);
    return (void *)(intptr_t)n;
}

/* Cancelled in a write: the accepted number is unknown, and the link ends. */
bool op_cancel_write(struct actor *a, struct link *link) {
    struct helper h = {0};
    struct timespec moment = {.tv_nsec = 2000000};
    void *result;
    static _Thread_local char buffer[65536];
    if (a->child || link->nonblocking)
        return true;
    link_settle(a, link);
    note(a, link, "cancel a write @%llu", (unsigned long long)link->sent);
    start(&h, a, link, write_much);
    word_wait(&h.word, 0);
    nanosleep(&moment, NULL);
    pthread_cancel(h.thread);
    pthread_join(h.thread, &result);
    if (result == PTHREAD_CANCELED)
        __atomic_store_n(&link->unsure, LARGEST, __ATOMIC_RELEASE);
    else if ((ssize_t)(intptr_t)result > 0)
        link_sent(link, (size_t)(intptr_t)result);
    else if (!alarms)
        violation(a, link, "a write that was not cancelled returned %zd", (ssize_t)(intptr_t)result);
    __atomic_store_n(&link->ending, CLEAN, __ATOMIC_RELEASE);
    shutdown(link->fd, SHUT_WR);
    ssize_t n;
    while ((n = recv(link->fd, buffer, sizeof(buffer), 0)) > 0 || (n < 0 && errno == EINTR))
        ;
    if (n != 0)
        violation(a, link, "after a cancelled write and shutdown: %s", strerror(errno));
    close_somehow(a, link);
    return false;
}
