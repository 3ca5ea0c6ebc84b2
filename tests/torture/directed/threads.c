/* SPDX-License-Identifier: MIT
 *
 * Threads that share a connection.
 */
#include "directed.h"

#include <linux/close_range.h>
#include <netinet/tcp.h>

static int32_t waiting_task;
static uint32_t stage;

/* A thread that runs it, and is blocked in the call before which it sets `stage`. */
static void *blocked_in(void *(*run)(void *), void *argument) {
    stage = 0;
    void *thread = in_thread(run, argument);
    word_wait(&stage, 0);
    is_blocked(waiting_task);
    return thread;
}

static struct pair shared;

/* ---- several threads write whole records, without a lock of their own - */

enum { WRITERS = 4, RECORDS = 9000, RECORD = 40 };

static void *put_records(void *argument) {
    char record[RECORD];
    int number = *(int *)argument;
    for (int i = 0; i < RECORDS; i++) {
        memset(record, 'a' + number, sizeof(record));
        record[0] = '<';
        for (int digit = 4, rest = i; digit > 0; digit--, rest /= 10)
            record[digit] = (char)('0' + rest % 10);
        record[RECORD - 1] = '>';
        CHECK(write(shared.ours, record, RECORD) == RECORD, "a record was cut");
        if (i % 500 == 499)
            usleep(500);
    }
    return NULL;
}

static void *read_all(void *unused) {
    char answers[64];
    while (recv(shared.ours, answers, sizeof(answers), 0) > 0)
        ;
    return unused;
}

/* Answers come all the while, so that each mode goes on to hold or buffer. */
static void many_writers(void) {
    int numbers[WRITERS] = {0, 1, 2, 3}, next[WRITERS] = {0};
    void *threads[WRITERS];
    char record[RECORD];
    shared = pair_warm(0);
    void *reader = in_thread(read_all, NULL);
    for (int i = 0; i < WRITERS; i++)
        threads[i] = in_thread(put_records, &numbers[i]);
    for (int i = 0; i < WRITERS * RECORDS; i++) {
        long n = raw(SYS_recvfrom, shared.theirs, (long)record, RECORD, MSG_WAITALL, 0, 0);
        int who = record[5] - 'a';
        int count = atoi((char[]){record[1], record[2], record[3], record[4], 0});
        CHECK(n == RECORD && record[0] == '<' && record[RECORD - 1] == '>' && who >= 0 &&
                  who < WRITERS && strspn(record + 5, (char[]){record[5], 0}) == RECORD - 6,
              "record %d is torn: %.40s", i, record);
        CHECK(count == next[who], "thread %d: record %d instead of %d", who, count, next[who]);
        next[who]++;
        if (i % 16 == 0)
            reply(&shared, 1);
    }
    for (int i = 0; i < WRITERS; i++)
        joined(threads[i]);
    raw(SYS_shutdown, shared.theirs, SHUT_WR, 0, 0, 0, 0);
    joined(reader);
}

/* ---- closed by another thread, the number reused ------------------ */

static void close_by_close(int fd) {
    close(fd);
}

static void close_by_syscall(int fd) {
    syscall(SYS_close, fd);
}

static void close_by_range(int fd) {
    close_range((unsigned)fd, (unsigned)fd, 0);
}

static void close_unseen(int fd) {
    raw(SYS_close, fd, 0, 0, 0, 0, 0);
}

static int make_file(int *look) {
    int fd = memfd_create("reborn", 0);
    *look = fcntl(fd, F_DUPFD, 50);
    return fd;
}

static int make_pipe(int *look) {
    int ends_of[2];
    CHECK(pipe2(ends_of, O_NONBLOCK) == 0, "pipe");
    *look = fcntl(ends_of[0], F_DUPFD, 50);
    int fd = fcntl(ends_of[1], F_DUPFD, 50);
    close(ends_of[0]);
    close(ends_of[1]);
    int low = dup(fd);
    close(fd);
    return low;
}

static int make_unix(int *look) {
    int ends_of[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_of) == 0, "socketpair");
    *look = fcntl(ends_of[1], F_DUPFD, 50);
    close(ends_of[1]);
    return ends_of[0];
}

static int make_tcp(int *look) {
    struct pair other = pair_make(0);
    *look = other.theirs;
    return other.ours;
}

static bool is_empty(int look, int kind) {
    char byte;
    if (kind == 0)
        return raw(SYS_pread64, look, (long)&byte, 1, 0, 0, 0) == 0;
    raw(SYS_fcntl, look, F_SETFL, O_NONBLOCK, 0, 0, 0);
    return raw(SYS_read, look, (long)&byte, 1, 0, 0, 0) < 0;
}

static void *put_and_stay(void *unused) {
    struct timespec moment = {.tv_nsec = 1000};
    (void)unused;
    put_all(&shared, 150);
    word_set(&stage, 1);
    word_wait(&stage, 1);
    nanosleep(&moment, NULL); /* the end of the turn, long after */
    return NULL;
}

/* Held by one thread, closed by another one, which gets the number anew. */
static void reborn(void (*closing)(int), bool seen) {
    static int (*const makers[])(int *) = {make_file, make_pipe, make_unix, make_tcp};
    for (int kind = 0; kind < 4; kind++) {
        int look;
        shared = pair_warm(0);
        stage = 0;
        void *thread = in_thread(put_and_stay, NULL);
        word_wait(&stage, 0);
        closing(shared.ours);
        int fd = makers[kind](&look);
        CHECK(fd == shared.ours, "the number %d was not reused: %d", shared.ours, fd);
        raw_sleep(window_ms() + 60);
        CHECK(is_empty(look, kind), "after the window: bytes of the old owner in kind %d", kind);
        word_set(&stage, 2);
        joined(thread);
        CHECK(is_empty(look, kind), "after the turn: bytes of the old owner in kind %d", kind);
        CHECK(write(fd, "new", 3) == 3, "the new owner cannot write");
        if (seen || !mode_is("coalesce")) /* a close that we cannot see loses buffered bytes */
            ends(&shared, 500);
        close(fd);
        close(look);
        raw(SYS_close, shared.theirs, 0, 0, 0, 0, 0);
    }
}

/* ---- closed beneath a blocked read, the number a socket's again -------- */

static void *read_one(void *argument) {
    char byte;
    waiting_task = own_task();
    word_set(&stage, 1);
    *(ssize_t *)argument = recv(shared.ours, &byte, 1, 0);
    return NULL;
}

/* The number is another connection's now. */
static struct pair closed_and_made_anew(void) {
    close(shared.ours);
    struct pair fresh = pair_make(0);
    CHECK(fresh.ours == shared.ours, "the number %d was not reused: %d", shared.ours, fresh.ours);
    return fresh;
}

/* The old connection's last input tells nothing about the new socket.  That one is not even connected: its
 * first write is refused as bare. */
static void closed_beneath_a_read(void) {
    ssize_t got = -1;
    char byte = 'x';
    shared = pair_warm(0);
    void *thread = blocked_in(read_one, &got);
    close(shared.ours);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd == shared.ours, "the number %d was not reused: %d", shared.ours, fd);
    raw(SYS_sendto, shared.theirs, (long)&byte, 1, MSG_NOSIGNAL, 0, 0);
    joined(thread);
    CHECK(got == 1, "the blocked read returned %zd", got);
    CHECK(send(fd, &byte, 1, MSG_NOSIGNAL) == -1 && errno == EPIPE,
          "a write to a socket that is not connected: %s", strerror(errno));
}

/* Once the new connection had had input, the result was taken for its input, too: the second write of its
 * message was judged as a first one, and stalled. */
static void closed_beneath_a_late_read(void) {
    ssize_t got = -1;
    char byte = 'x';
    int nodelay = 0;
    socklen_t length = sizeof(nodelay);
    shared = pair_warm(0);
    void *thread = blocked_in(read_one, &got);
    struct pair fresh = closed_and_made_anew();
    put_all(&fresh, 200);
    reply(&fresh, 1);
    CHECK(recv(fresh.ours, &byte, 1, 0) == 1, "no answer");
    put_all(&fresh, 200);
    raw(SYS_sendto, shared.theirs, (long)&byte, 1, MSG_NOSIGNAL, 0, 0);
    joined(thread);
    CHECK(got == 1, "the blocked read returned %zd", got);
    put_all(&fresh, 100);
    raw(SYS_getsockopt, fresh.ours, IPPROTO_TCP, TCP_NODELAY, (long)&nodelay, (long)&length, 0);
    CHECK(nodelay || !(mode_is("nodelay") || mode_is("auto")), "the second write of a message stalls");
    arrives(&fresh, within_window());
}

/* ---- closed beneath a blocked write ------------------------------------ */

enum { MUCH = 16 << 20 }; /* more than both ends take before the peer reads */

struct blocked_write {
    void *bytes;
    ssize_t put;
};

static void *write_much(void *argument) {
    struct blocked_write *w = argument;
    struct iovec *parts = w->bytes;
    parts[0] = (struct iovec){w->bytes, 100};
    parts[1] = (struct iovec){(char *)w->bytes + 100, MUCH - 100};
    waiting_task = own_task();
    word_set(&stage, 1);
    __atomic_store_n(&w->put, writev(shared.ours, parts, 2), __ATOMIC_RELEASE);
    word_wait(&stage, 1); /* stays alive, so that its memory does */
    return NULL;
}

/* The place of the old connection is free when the call returns.  The library has not met the memory of
 * the vector before, so that modes that cure read it after the call only, too. */
static void closed_beneath_a_write(void) {
    struct blocked_write w = {.put = -1};
    static char sink[1 << 16];
    size_t got = 0;
    w.bytes = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(w.bytes != MAP_FAILED, "no memory");
    shared = pair_make(0);
    void *thread = blocked_in(write_much, &w);
    close(shared.ours);
    while (got < MUCH) {
        long n = raw(SYS_recvfrom, shared.theirs, (long)sink, sizeof(sink), 0, 0, 0);
        CHECK(n > 0, "the peer got %zu bytes of %d", got, MUCH);
        got += (size_t)n;
    }
    for (int ms = 0; ms < 10000 && __atomic_load_n(&w.put, __ATOMIC_ACQUIRE) < 0; ms++)
        usleep(1000);
    CHECK(w.put == MUCH, "the blocked write returned %zd", w.put);
    for (int i = 0; i < 4; i++) { /* the next places that are free */
        struct pair other = pair_warm(0);
        exchange(&other);
    }
    word_set(&stage, 2);
    joined(thread);
    munmap(w.bytes, MUCH);
}

/* ---- closed beneath a write that sends what waits before it ------------- */

enum { PART = 5000 };

static void *write_part(void *argument) {
    waiting_task = own_task();
    word_set(&stage, 1);
    *(ssize_t *)argument = put(&shared, PART);
    return NULL;
}

/* The blocked write goes on with the old socket.  The number is another connection's, which gets nothing. */
static void closed_beneath_a_drain(void) {
    ssize_t got = 0;
    char byte;
    shared = pair_overfilled(true);
    fcntl(shared.ours, F_SETFL, 0);
    uint64_t before = shared.put;
    void *thread = blocked_in(write_part, &got);
    struct pair fresh = closed_and_made_anew();
    CHECK(receive(&shared, before + PART, 20000) == before + PART, "of the blocked write %lld bytes came",
          (long long)(shared.received - before));
    joined(thread);
    CHECK(got == PART, "the blocked write returned %zd", got);
    long n = raw(SYS_recvfrom, fresh.theirs, (long)&byte, 1, MSG_DONTWAIT, 0, 0);
    CHECK(n == -EAGAIN, "bytes of the old connection at the new one's peer");
}

CASE("many threads write whole records", many_writers())
CASE("a number is reused after close", reborn(close_by_close, true))
CASE("a number is reused after syscall(SYS_close)", reborn(close_by_syscall, true))
CASE("a number is reused after close_range", reborn(close_by_range, true))
CASE("a number is reused after an unseen close", reborn(close_unseen, false))
CASE("a connection is closed beneath a read", closed_beneath_a_read())
CASE("a connection is closed beneath a read that returns late", closed_beneath_a_late_read())
CASE("a connection is closed beneath a write", closed_beneath_a_write())
CASE("a connection is closed beneath a drain", closed_beneath_a_drain())
