/* SPDX-License-Identifier: MIT
 *
 * The end of a process, or of a descriptor, with a full socket: all that was accepted arrives, however slow
 * the peer is.
 */
#include "directed.h"

#include <aio.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* How much the child's calls accepted. */
static uint64_t *accepted;

static void end_by_exit(void) {
    exit(0);
}

static void end_by_underscore(void) {
    _exit(0);
}

static void end_by_quick_exit(void) {
    quick_exit(0);
}

static void (*const all_ends[])(void) = {end_by_exit, end_by_underscore, end_by_quick_exit};
enum { ENDS = sizeof(all_ends) / sizeof(all_ends[0]) };

static uint64_t *shared_count(void) {
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* A child with a connection of its own; the parent keeps the other end. */
static pid_t child_with(struct pair *p, int options, void (*act)(struct pair *)) {
    *p = pair_warm(options);
    pid_t pid = fork();
    if (pid == 0) {
        act(p);
        fail("the child did not end");
    }
    close(p->ours);
    return pid;
}

static void all_arrives(struct pair *p, pid_t pid, int ms) {
    int status;
    waitpid(pid, &status, 0);
    CHECK(status == 0 || WIFSIGNALED(status), "the child ended with %x", (unsigned)status);
    p->put = *accepted;
    ends(p, ms);
    raw(SYS_close, p->theirs, 0, 0, 0, 0, 0);
}

static int which;

static void fill_and_end(struct pair *p) {
    fcntl(p->ours, F_SETFL, O_NONBLOCK);
    fill_for_good(p);
    fill_amid_messages(p);
    for (int i = 0; i < 4; i++)
        put(p, 100); /* accepted only where there is room to the end */
    *accepted = p->put;
    all_ends[which]();
}

/* The peer reads nothing for some seconds: the kernel has no room for buffered bytes. */
static void end_with_a_full_socket(void) {
    struct pair pairs[ENDS];
    pid_t children[ENDS];
    uint64_t *counts[ENDS];
    for (which = 0; which < ENDS; which++) {
        accepted = counts[which] = shared_count();
        children[which] = child_with(&pairs[which], SMALL_BUFFERS, fill_and_end);
    }
    raw_sleep(4000);
    for (which = 0; which < ENDS; which++) {
        accepted = counts[which];
        all_arrives(&pairs[which], children[which], 3000);
    }
}

/* ---- descriptors ----------------------------------------------------- */

static void close_full(unsigned limit) {
    struct rlimit files = {limit, limit};
    for (int way = 0; way < 3; way++) {
        struct pair p = pair_overfilled(false);
        if (limit)
            CHECK(setrlimit(RLIMIT_NOFILE, &files) == 0, "RLIMIT_NOFILE: %s", strerror(errno));
        if (way == 0)
            close(p.ours);
        else if (way == 1)
            dup2(0, p.ours);
        else
            close_range((unsigned)p.ours, (unsigned)p.ours, 0);
        raw_sleep(300);
        ends(&p, 3000);
    }
}

/* Once close_range and closefrom closed our own number of a closed connection, and its last bytes were
 * lost. */
static void everything_is_closed(void) {
    for (int way = 0; way < 5; way++) {
        struct pair p = pair_warm(SMALL_BUFFERS);
        p.theirs = (int)raw(SYS_dup2, p.theirs, 60, 0, 0, 0, 0);
        fcntl(p.ours, F_SETFL, O_NONBLOCK);
        overfill(&p);
        if (way >= 2)
            dup2(p.ours, 70);
        close(p.ours);
        p.ours = 70;
        if (way == 0)
            CHECK(close_range(61, ~0U, 0) == 0, "close_range: %s", strerror(errno));
        else if (way == 1)
            CHECK(syscall(SYS_close_range, 61, ~0U, 0) == 0, "close_range: %s", strerror(errno));
        else if (way == 2)
            CHECK(close_range(61, ~0U, 0) == 0, "close_range: %s", strerror(errno));
        else if (way == 3)
            closefrom(61);
        else
            for (int fd = 61; fd < 400; fd++)
                close(fd);
        CHECK(fcntl(p.ours, F_GETFD) < 0, "way %d: %d is open", way, p.ours);
        raw_sleep(300);
        ends(&p, 3000);
    }
}

/* Bytes that found no room are sent once there is room, although the program calls nothing meanwhile. */
static void something_happens_with_a_full_socket(void) {
    for (int round = 0; round < 6; round++) {
        struct pair p = pair_overfilled(false);
        if (round % 2)
            close(p.ours);
        if (round < 2)
            CHECK(setgid(getgid()) == 0, "setgid: %s", strerror(errno));
        else if (round < 4)
            CHECK(unshare(CLONE_FILES) == 0, "unshare: %s", strerror(errno));
        else
            CHECK(system("true") == 0, "system: %s", strerror(errno));
        raw_sleep(window_ms() + 50);
        if (round % 2)
            ends(&p, 3000);
        else
            arrives(&p, 3000);
    }
}

static void *ends_unknown_to_libc(void *unused) {
    syscall(SYS_exit, 0);
    return unused;
}

static void *ends_by_libc(void *task) {
    __atomic_store_n((int32_t *)task, own_task(), __ATOMIC_SEQ_CST);
    pthread_exit(NULL);
}

/* Unseen: pthread_join would look for room. */
static void wait_for_end(const int32_t *task) {
    for (int32_t id; (id = __atomic_load_n(task, __ATOMIC_SEQ_CST)) == 0 ||
                     raw(SYS_tgkill, raw(SYS_getpid, 0, 0, 0, 0, 0, 0), id, 0, 0, 0, 0) == 0;)
        raw_sleep(1);
}

/* Once a thread has left by SYS_exit each end of a thread stops ours: nothing looked for room any more. */
static void threads_end_with_a_full_socket(void) {
    for (int round = 0; round < 2; round++) {
        struct pair p = pair_overfilled(false);
        if (round)
            close(p.ours);
        joined(in_thread(ends_unknown_to_libc, NULL));
        int32_t task = 0;
        in_thread(ends_by_libc, &task);
        wait_for_end(&task);
        raw_sleep(window_ms() + 50);
        if (round)
            ends(&p, 3000);
        else
            arrives(&p, 3000);
    }
}

/* Shut down for writing though there is no room. */
static void shutdown_with_a_full_socket(void) {
    struct pair p = pair_overfilled(false);
    CHECK(shutdown(p.ours, SHUT_WR) == 0, "shutdown: %s", strerror(errno));
    raw_sleep(window_ms() + 50);
    ends(&p, 3000);
}

/* There is no room at all.  Once shutdown waited a second, and then the last bytes were lost. */
static void shutdown_without_any_room(void) {
    for (int round = 0; round < 2; round++) {
        struct pair p = pair_overfilled(true);
        raw_sleep(400);
        uint64_t before = now_ms();
        CHECK(shutdown(p.ours, round ? SHUT_RDWR : SHUT_WR) == 0, "shutdown: %s", strerror(errno));
        CHECK_TIME(now_ms() - before < 500, "shutdown took %u ms", (unsigned)(now_ms() - before));
        CHECK(send(p.ours, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE, "a write after it: %s",
              strerror(errno));
        CHECK(shutdown(p.ours, SHUT_WR) == 0, "a second shutdown: %s", strerror(errno));
        ends(&p, 3000);
    }
}

/* What libc writes out of our sight stands behind what was written before, in a blocking descriptor however
 * long the peer does not read.  Once it came first after a second. */
static void *prints(void *pair) {
    struct pair *p = pair;
    FILE *stream = fdopen(p->ours, "w");
    CHECK(stream && fwrite(content(p->put), 1, 5000, stream) == 5000 && fflush(stream) == 0, "fwrite: %s",
          strerror(errno));
    p->put += 5000;
    return NULL;
}

static void *queues(void *pair) {
    struct pair *p = pair;
    struct aiocb block = {.aio_fildes = p->ours, .aio_nbytes = 5000};
    const struct aiocb *const list[] = {&block};
    block.aio_buf = (void *)(uintptr_t)content(p->put);
    CHECK(aio_write(&block) == 0 && aio_suspend(list, 1, NULL) == 0 && aio_return(&block) == 5000,
          "aio_write: %s", strerror(errno));
    p->put += 5000;
    return NULL;
}

static void unseen_behind(void *(*writes)(void *)) {
    struct pair p = pair_overfilled(true);
    fcntl(p.ours, F_SETFL, 0);
    void *thread = in_thread(writes, &p);
    raw_sleep(1700);
    uint64_t before = p.put;
    receive(&p, before + 5000, 5000);
    joined(thread);
    CHECK(p.received == p.put, "%llu bytes accepted, %llu arrived", (unsigned long long)p.put,
          (unsigned long long)p.received);
}

static void printed_behind(void) {
    unseen_behind(prints);
}

static void queued_behind(void) {
    unseen_behind(queues);
}

static void lingers(const struct pair *p, int seconds) {
    struct linger time = {1, seconds};
    CHECK(setsockopt(p->ours, SOL_SOCKET, SO_LINGER, &time, sizeof(time)) == 0, "%s", strerror(errno));
}

/* SO_LINGER of no time: the peer sees a reset at once. */
static void reset_with_a_full_socket(void) {
    struct pair p = pair_warm(SMALL_BUFFERS);
    struct pollfd told = {.fd = p.theirs};
    struct timespec limit = {.tv_sec = 1};
    fcntl(p.ours, F_SETFL, O_NONBLOCK);
    fill_for_good(&p);
    overfill(&p);
    raw_sleep(400);
    lingers(&p, 0);
    close(p.ours);
    long n = raw(SYS_ppoll, (long)&told, 1, (long)&limit, 0, 8, 0);
    CHECK_TIME(n == 1 && (told.revents & POLLERR), "no reset within a second: %ld", n);
}

/* The last close of such a socket blocks.  Once it blocked the window's thread, which others wait for. */
static void linger_with_a_full_socket(void) {
    struct pair other = pair_warm(0), p = pair_warm(SMALL_BUFFERS);
    fcntl(p.ours, F_SETFL, O_NONBLOCK);
    fill_for_good(&p);
    overfill(&p);
    raw_sleep(400);
    lingers(&p, 3);
    close(p.ours);
    receive(&p, p.received + 12000, 500);
    raw_sleep(300);
    put_all(&other, 100);
    arrives(&other, 1000);
    ends(&p, 5000);
}

/* No second thread may be had: nothing is held, nothing stalls, nothing is lost. */
static void no_thread_left(void) {
    struct rlimit processes = {1, 1};
    if (setrlimit(RLIMIT_NPROC, &processes) != 0)
        return;
    if (getuid() == 0 && setresuid(12345, 12345, 12345) != 0)
        return;
    struct pair p = pair_warm(0);
    for (int i = 0; i < 5; i++)
        exchange(&p);
    put_all(&p, 100);
    arrives(&p, 1000);
    pair_ends(&p, 300);
}

CASE("the end of a process with a full socket", end_with_a_full_socket())
CASE("close with a full socket", close_full(0))
CASE("everything is closed after a close with a full socket", everything_is_closed())
CASE("a change of rights, or another program, with a full socket", something_happens_with_a_full_socket())
CASE("threads end with a full socket", threads_end_with_a_full_socket())
CASE("close with a full socket and no descriptor to spare", close_full(128))
CASE("shutdown with a full socket", shutdown_with_a_full_socket())
CASE("a FILE of a full socket", printed_behind())
CASE("an asynchronous write to a full socket", queued_behind())
CASE("shutdown without any room", shutdown_without_any_room())
CASE("a reset with a full socket", reset_with_a_full_socket())
CASE("SO_LINGER with a full socket", linger_with_a_full_socket())
CASE("no thread to be had", no_thread_left())
