/* SPDX-License-Identifier: MIT
 *
 * Cancelled threads: no lock and no hold is left behind.
 */
#include "directed.h"

#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>

static struct pair shared;
static uint32_t stage;
static int32_t blocked_task;
static int spare_pipe[2];

/* ---- blocked calls --------------------------------------------------- */

static char bytes[100];
static struct iovec part = {bytes, sizeof(bytes)};
static struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

static void in_read(void) {
    read(shared.ours, bytes, 1) < 0 ? (void)0 : fail("read came back");
}

static void in_recv(void) {
    recv(shared.ours, bytes, 1, 0) < 0 ? (void)0 : fail("recv came back");
}

static void in_recvmsg(void) {
    recvmsg(shared.ours, &message, 0) < 0 ? (void)0 : fail("recvmsg came back");
}

static void in_readv(void) {
    readv(shared.ours, &part, 1) < 0 ? (void)0 : fail("readv came back");
}

static void in_poll(void) {
    struct pollfd ready = {.fd = shared.ours, .events = POLLIN};
    poll(&ready, 1, -1);
}

static void in_select(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(shared.ours, &set);
    select(shared.ours + 1, &set, NULL, NULL, NULL);
}

static void in_epoll(void) {
    struct epoll_event event;
    static int ep = -1;
    if (ep < 0)
        ep = epoll_create1(EPOLL_CLOEXEC);
    epoll_wait(ep, &event, 1, -1);
}

static void in_nanosleep(void) {
    struct timespec forever = {.tv_sec = 1000};
    nanosleep(&forever, NULL);
}

static void in_semaphore(void) {
    static sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    sem_wait(&semaphore);
}

static void in_pipe(void) {
    read(spare_pipe[0], bytes, 1) < 0 ? (void)0 : fail("read came back");
}

static void in_write(void) {
    while (put(&shared, 1) == 1)
        ;
}

/* coalesce first sends its buffered bytes, by a call that blocks. */
static void in_write_behind(void) {
    stage = 0;
    fcntl(shared.ours, F_SETFL, O_NONBLOCK);
    fill_for_good(&shared);
    overfill(&shared);
    fcntl(shared.ours, F_SETFL, 0);
    word_set(&stage, 2);
    in_write();
}

static void in_large_write(void) {
    while (put(&shared, 5000) > 0)
        ;
}

/* From glibc 2.41 on a call whose first bytes were accepted returns their number; the next one is
 * cancelled. */
static void in_send(void) {
    ssize_t sent;
    while ((sent = send(shared.ours, content(shared.put), 50, 0)) > 0)
        shared.put += (uint64_t)sent;
}

static const struct {
    const char *name;
    void (*call)(void);
    bool writes;
} blocked[] = {
    {"read", in_read, false},           {"recv", in_recv, false},     {"recvmsg", in_recvmsg, false},
    {"readv", in_readv, false},         {"poll", in_poll, false},     {"select", in_select, false},
    {"epoll_wait", in_epoll, false},    {"nanosleep", in_nanosleep, false},
    {"sem_wait", in_semaphore, false},  {"read of a pipe", in_pipe, false},
    {"write", in_write, true},          {"large write", in_large_write, true},
    {"send", in_send, true},            {"write behind others", in_write_behind, true},
};

static void *hold_and_block(void *argument) {
    blocked_task = own_task();
    put_all(&shared, 40);
    word_set(&stage, 1);
    (*(void (*const *)(void))argument)();
    return NULL;
}

static void *exchange_in_thread(void *unused) {
    (void)unused;
    exchange(&shared);
    return NULL;
}

static void cancelled_in_a_blocked_call(void) {
    CHECK(pipe(spare_pipe) == 0, "pipe");
    for (size_t i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++) {
        void *result;
        shared = pair_warm(blocked[i].writes ? SMALL_BUFFERS : 0);
        stage = 0;
        pthread_t thread =
            (pthread_t)(uintptr_t)in_thread(hold_and_block, (void *)(uintptr_t)&blocked[i].call);
        uint32_t about_to_block = blocked[i].call == in_write_behind ? 2 : 1;
        while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != about_to_block)
            raw_sleep(1);
        is_blocked(blocked_task);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        CHECK(result == PTHREAD_CANCELED, "a thread in %s was not cancelled", blocked[i].name);
        if (blocked[i].writes)
            resynchronise(&shared, 5000); /* some of the cancelled write may have been accepted */
        else
            arrives(&shared, 50);
        exchange(&shared);
        joined(in_thread(exchange_in_thread, NULL));
        pair_ends(&shared, 300);
    }
}

/* ---- asynchronous cancellation --------------------------------------- */

/* A reader may be cancelled at any instruction, ours included.  (POSIX does not allow it to
 * call recv then; bare, nothing happens where only the kernel is called.) */
static void *read_for_ever(void *unused) {
    (void)unused;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    word_set(&stage, 1);
    for (;;)
        recv(shared.ours, bytes, 1, 0);
    return NULL;
}

static void reader_cancelled_anywhere(void) {
    enum { ROUNDS = 2000, MOST_SPINS = 5000 };
    static char answers[4096];
    shared = pair_warm(0);
    for (int i = 0; i < ROUNDS; i++) {
        stage = 0;
        reply(&shared, sizeof(answers));
        pthread_t thread = (pthread_t)(uintptr_t)in_thread(read_for_ever, NULL);
        word_wait(&stage, 0);
        for (volatile int spin = i * 37 % MOST_SPINS; spin > 0; spin--)
            ;
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        while (recv(shared.ours, answers, sizeof(answers), MSG_DONTWAIT) > 0)
            ;
    }
    exchange(&shared);
    pair_ends(&shared, 300);
}

/* Likewise a thread that only writes, or only asks for an option: in the modes that hold nothing the library
 * did not see its end, and a lock that it held was held for ever. */
static void *write_for_ever(void *unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    word_set(&stage, 1);
    for (;;)
        (void)!write(shared.ours, bytes, 1);
    return unused;
}

static void *ask_for_ever(void *unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    word_set(&stage, 1);
    for (;;) {
        int value;
        socklen_t length = sizeof(value);
        getsockopt(shared.ours, SOL_SOCKET, SO_ERROR, &value, &length);
    }
    return unused;
}

static void *take_raw(void *unused) {
    static char taken[65536];
    while (raw(SYS_recvfrom, shared.theirs, (long)taken, sizeof(taken), 0, 0, 0) > 0)
        ;
    return unused;
}

static void cancelled_anywhere(void *(*run)(void *)) {
    enum { ROUNDS = 3000, MOST_SPINS = 20000 };
    shared = pair_warm(0);
    void *taker = in_thread(take_raw, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        stage = 0;
        pthread_t thread = (pthread_t)(uintptr_t)in_thread(run, NULL);
        word_wait(&stage, 0);
        for (volatile int spin = i * 37 % MOST_SPINS + 2000; spin > 0; spin--)
            ;
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    close(shared.ours);
    joined(taker);
}

CASE("a writer is cancelled at any instruction", cancelled_anywhere(write_for_ever))
CASE("a thread that asks for an option is cancelled at any instruction", cancelled_anywhere(ask_for_ever))
CASE("a reader is cancelled at any instruction", reader_cancelled_anywhere())
CASE("cancelled in a blocked call", cancelled_in_a_blocked_call())
