/* SPDX-License-Identifier: MIT
 *
 * Full send buffers: accepted bytes are delivered, in order, and EAGAIN comes
 * only with a promise that an edge follows.
 */
#include "directed.h"

#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>

static const size_t sizes[] = {1, 100, 700, 5000};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static struct pair full_pair(int options) {
    struct pair p = pair_warm(options);
    fcntl(p.ours, F_SETFL, O_NONBLOCK);
    return p;
}

static void accepted_when_full_is_delivered(void) {
    for (int options = 0; options <= SMALL_BUFFERS; options++)
        for (int i = 0; i < SIZES; i++) {
            struct pair p = full_pair(options);
            for (int round = 0; round < 2; round++) {
                put_until_full(&p, sizes[i] < 100 && !options ? 100 : sizes[i]);
                if (round)
                    overfill(&p);
                raw_sleep(window_ms() + 60); /* the window ends while there is no room */
                put(&p, 100);
                arrives(&p, 3000);
            }
            fcntl(p.ours, F_SETFL, 0);
            exchange(&p);
            pair_ends(&p, 300);
        }
}

static void huge_writes(void) {
    struct pair p = full_pair(0);
    put_all(&p, 30);
    CHECK(put(&p, 1 << 20) > 0, "a large write after a small one: %s", strerror(errno));
    put_until_full(&p, 1 << 20);
    arrives(&p, 3000);
}

/* One edge for each EAGAIN, however small the writes. */
static void edge_after_eagain(void) {
    for (int i = 0; i < SIZES; i++) {
        struct pair p = full_pair(SMALL_BUFFERS);
        int ep = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
        epoll_ctl(ep, EPOLL_CTL_ADD, p.ours, &event);
        for (int round = 0; round < 8; round++) {
            int n = epoll_wait(ep, &event, 1, 3000);
            CHECK(n == 1 && event.events & EPOLLOUT, "size %zu, round %d: no edge (%d)", sizes[i],
                  round, n);
            if (round % 3 == 2)
                overfill(&p);
            put_until_full(&p, sizes[(i + round) % SIZES]);
            put(&p, 10); /* once more: EAGAIN again, or little room was left */
            if (round % 2)
                raw_sleep(5);
            arrives(&p, 3000);
        }
        close(ep);
        pair_close(&p);
    }
}

static bool writable(int fd, int how, int ms) {
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    fd_set set;
    struct timeval limit = {.tv_usec = ms * 1000};
    FD_ZERO(&set);
    FD_SET(fd, &set);
    if (how == 0)
        return poll(&ready, 1, ms) == 1;
    if (how == 1)
        return select(fd + 1, NULL, &set, NULL, &limit) == 1;
    int ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLOUT};
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);
    int n = epoll_wait(ep, &event, 1, ms);
    close(ep);
    return n == 1;
}

/* A busy kernel makes room after the EAGAIN now and then: then a write must find that room. */
static void not_writable_when_full(struct pair *p, int how) {
    for (int i = 0; i < 1000; i++) {
        put_until_full(p, 100);
        if (!writable(p->ours, how, 0))
            return;
        CHECK(put(p, 100) > 0 || !writable(p->ours, how, 0), "%d: writable though full", how);
    }
    fail("there is always room");
}

static void level_of_writability(void) {
    for (int how = 0; how < 3; how++) {
        struct pair p = full_pair(SMALL_BUFFERS);
        for (int round = 0; round < 3; round++) {
            if (round)
                overfill(&p);
            not_writable_when_full(&p, how);
            arrives(&p, 3000);
            CHECK(writable(p.ours, how, 2000), "%d: not writable though empty", how);
        }
        pair_close(&p);
    }
}

/* A header that is held, then a full buffer, then a wait for room: the two sides do not
 * wait for each other. */
static void wait_for_room_while_holding(void) {
    struct pair p = full_pair(0);
    for (int round = 0; round < 5; round++) {
        put_all(&p, 100);
        uint64_t before = now_ms();
        CHECK(writable(p.ours, round % 3, 1000), "not writable while holding");
        CHECK_TIME(now_ms() - before < 60, "a wait for writability took %d ms", (int)(now_ms() - before));
        put_all(&p, 200);
        struct pollfd in = {.fd = p.ours, .events = POLLIN};
        poll(&in, 1, 1);
        arrives(&p, 60);
    }
}

static void send_timeout(void) {
    struct timeval limit = {.tv_usec = 60000};
    struct pair p = pair_warm(SMALL_BUFFERS);
    ssize_t n = 0;
    setsockopt(p.ours, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    for (int i = 0; i < 100000 && n >= 0; i++) {
        uint64_t before = now_ms();
        n = put(&p, 100);
        CHECK_TIME(now_ms() - before < 1500, "SO_SNDTIMEO of 60 ms took %d ms", (int)(now_ms() - before));
        if (n < 0)
            CHECK(errno == EAGAIN && now_ms() - before >= 50, "after %d ms: %s",
                  (int)(now_ms() - before), strerror(errno));
    }
    CHECK(n < 0, "SO_SNDTIMEO never ended");
    n = put(&p, 50000);
    CHECK(n < 50000, "a full socket took 50000 bytes");
    fcntl(p.ours, F_SETFL, O_NONBLOCK);
    fill_for_good(&p);
    overfill(&p);
    fcntl(p.ours, F_SETFL, 0);
    uint64_t before = now_ms();
    for (n = 0; n >= 0 && now_ms() - before < 3000;)
        n = put(&p, 1000);
    CHECK(n >= 0 || errno == EAGAIN, "behind what waits: %s", strerror(errno));
    CHECK_TIME(n == -1 && now_ms() - before < 1500, "behind what waits: %zd after %d ms", n,
               (int)(now_ms() - before));
    arrives(&p, 3000);
    exchange(&p);
}

static void dontwait_on_a_blocking_socket(void) {
    struct pair p = pair_warm(SMALL_BUFFERS);
    for (int round = 0; round < 3; round++) {
        ssize_t n;
        uint64_t before = now_ms();
        while ((n = send(p.ours, content(p.put), 300, MSG_DONTWAIT)) > 0)
            p.put += (uint64_t)n;
        CHECK(errno == EAGAIN, "MSG_DONTWAIT: %s", strerror(errno));
        CHECK_TIME(now_ms() - before < 1500, "MSG_DONTWAIT waited for %d ms", (int)(now_ms() - before));
        fcntl(p.ours, F_SETFL, O_NONBLOCK);
        overfill(&p);
        fcntl(p.ours, F_SETFL, 0);
        while ((n = send(p.ours, content(p.put), 300, MSG_DONTWAIT)) > 0)
            p.put += (uint64_t)n; /* for ever, if it waits: the peer does not read */
        CHECK(errno == EAGAIN, "MSG_DONTWAIT behind what waits: %s", strerror(errno));
        arrives(&p, 3000);
    }
    exchange(&p);
}

/* A blocking write into a full socket ends when the peer reads, with all of it accepted. */
static uint32_t written;

static void *read_later(void *argument) {
    struct pair *p = argument;
    raw_sleep(80);
    while (!__atomic_load_n(&written, __ATOMIC_ACQUIRE))
        receive(p, UINT64_MAX, 50);
    return NULL;
}

/* One message by sendmmsg, which buffers nothing, behind buffered bytes. */
static int send_many(const struct pair *p, size_t bytes, int flags) {
    struct iovec part = {(void *)(uintptr_t)content(p->put), bytes};
    struct mmsghdr one = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    return sendmmsg(p->ours, &one, 1, flags) == 1 ? (int)one.msg_len : -1;
}

static void dontwait_of_many_messages(void) {
    struct pair p = full_pair(SMALL_BUFFERS);
    int n;
    do { /* the peer does not read */
        overfill(&p);
        fcntl(p.ours, F_SETFL, 0);
        n = send_many(&p, 50, MSG_DONTWAIT);
        p.put += n > 0 ? (uint64_t)n : 0;
        fcntl(p.ours, F_SETFL, O_NONBLOCK);
    } while (n > 0);
    CHECK(errno == EAGAIN, "sendmmsg: %s", strerror(errno));
    arrives(&p, 3000);
}

/* Once there is room, EAGAIN comes only with another edge: also where buffered bytes could not leave when
 * their window ended, and while another thread is blocked in a write of earlier bytes. */
enum { BESIDE = 300 };
static int32_t writing_task;
static uint32_t begun;

static void *write_blocking(void *argument) {
    struct pair *p = argument;
    writing_task = own_task();
    word_set(&begun, 1);
    CHECK(write(p->ours, content(p->put), BESIDE) == BESIDE, "the blocked write: %s", strerror(errno));
    return NULL;
}

/* The thread that does it.  A late probe of the window has made room for so little, once: then again. */
static void *blocked_beside(struct pair *p) {
    for (int i = 0; i < 20; i++) {
        fill_for_good(p);
        overfill(p);
        fcntl(p->ours, F_SETFL, 0);
        begun = 0;
        void *writer = in_thread(write_blocking, p);
        word_wait(&begun, 0);
        if (blocks(writing_task))
            return writer;
        joined(writer);
        p->put += BESIDE;
        fcntl(p->ours, F_SETFL, O_NONBLOCK);
    }
    fail("a small write always finds room");
}

static void *count_all(void *argument) {
    static char buffer[65536];
    struct pair *p = argument;
    raw_sleep(30); /* so that the thread already waits for the edge */
    while (p->received < p->put)
        p->received += (uint64_t)raw(SYS_recvfrom, p->theirs, (long)buffer, sizeof(buffer), 0, 0, 0);
    return NULL;
}

static void edge_once_there_is_room(int ep, struct pair *p, bool beside, bool many) {
    struct epoll_event event = {.events = EPOLLOUT | EPOLLET};
    void *writer = NULL;
    ssize_t n;
    if (beside) {
        writer = blocked_beside(p);
    } else {
        fill_for_good(p);
        overfill(p);
        raw_sleep(window_ms() + 20);
    }
    struct pair theirs = {-1, p->theirs, p->put + (beside ? BESIDE : 0) + 20, p->received};
    epoll_ctl(ep, EPOLL_CTL_ADD, p->ours, &event);
    void *reader = in_thread(count_all, &theirs);
    do {
        CHECK(epoll_wait(ep, &event, 1, 3000) == 1, "no edge after EAGAIN");
        n = many ? send_many(p, 20, MSG_DONTWAIT) : send(p->ours, content(p->put), 20, MSG_DONTWAIT);
        CHECK(n == 20 || (n == -1 && errno == EAGAIN), "%zd: %s", n, strerror(errno));
    } while (n < 0);
    if (writer)
        joined(writer);
    joined(reader);
    p->put = p->received = theirs.received;
    epoll_ctl(ep, EPOLL_CTL_DEL, p->ours, NULL);
    fcntl(p->ours, F_SETFL, O_NONBLOCK);
}

static void edges_once_there_is_room(void) {
    struct pair p = full_pair(SMALL_BUFFERS);
    int ep = epoll_create1(EPOLL_CLOEXEC);
    for (int round = 0; round < 6; round++)
        edge_once_there_is_room(ep, &p, round % 2, round % 4 > 1);
}

static void blocking_write_into_a_full_socket(void) {
    for (int i = 0; i < SIZES; i++) {
        struct pair p = full_pair(SMALL_BUFFERS), *reader = &p;
        put_until_full(&p, sizes[i]);
        if (i % 2)
            overfill(&p);
        fcntl(p.ours, F_SETFL, 0);
        struct pair theirs = {.ours = -1, .theirs = reader->theirs, .received = p.received};
        written = 0;
        void *thread = in_thread(read_later, &theirs);
        put_all(&p, 10);
        put_all(&p, 3000);
        put_all(&p, 20000);
        put_all(&p, 10);
        __atomic_store_n(&written, 1, __ATOMIC_RELEASE);
        joined(thread);
        receive(&theirs, p.put, 10000);
        CHECK(theirs.received == p.put, "%llu accepted, %llu arrived", (unsigned long long)p.put,
              (unsigned long long)theirs.received);
        pair_close(&p);
    }
}

CASE("what a full socket accepted is delivered", accepted_when_full_is_delivered())
CASE("huge writes after small ones", huge_writes())
CASE("an edge follows EAGAIN", edge_after_eagain())
CASE("writability of a full socket", level_of_writability())
CASE("a wait for room while holding", wait_for_room_while_holding())
CASE("SO_SNDTIMEO", send_timeout())
CASE("MSG_DONTWAIT on a blocking socket", dontwait_on_a_blocking_socket())
CASE("MSG_DONTWAIT of many messages", dontwait_of_many_messages())
CASE("another edge follows EAGAIN when there was room", edges_once_there_is_room())
CASE("a blocking write into a full socket", blocking_write_into_a_full_socket())
