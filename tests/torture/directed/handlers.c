/* SPDX-License-Identifier: MIT
 *
 * A handler that uses another connection, while a call on this one is blocked: the blocked call's result is
 * not lost.
 */
#include "directed.h"

#include <sys/sendfile.h>

static struct pair ours, other;
static volatile sig_atomic_t handled;

static void read_other(int number) {
    char byte;
    (void)number;
    handled += recv(other.ours, &byte, 1, 0) == 1;
}

static void handle(void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    handled = 0;
}

/* The number of connections that one place in a table has been differs from the other's. */
static void make_both(int options) {
    struct pair earlier = pair_make(0);
    pair_close(&earlier);
    ours = pair_warm(options);
    other = pair_make(0);
    reply(&other, 10);
}

/* Interrupts a thread that is blocked, and lets it be blocked again. */
static void interrupt(int32_t task) {
    is_blocked(task);
    raw(SYS_tgkill, getpid(), task, SIGUSR1, 0, 0, 0);
    is_blocked(task);
}

/* Interrupts the main thread; then their end is gone, by a reset. */
static void *interrupt_then_reset(void *argument) {
    static const struct linger none = {.l_onoff = 1};
    interrupt(*(int32_t *)argument);
    raw(SYS_setsockopt, ours.theirs, SOL_SOCKET, SO_LINGER, (long)&none, sizeof(none), 0);
    raw(SYS_close, ours.theirs, 0, 0, 0, 0, 0);
    return NULL;
}

/* As bare: the blocked call tells of the reset, and the next write of its end. */
static void check_reset(const char *call, ssize_t result) {
    CHECK(result == -1 && errno == ECONNRESET && handled == 1, "%s returned %zd (%s), %d signals", call,
          result, strerror(errno), (int)handled);
    result = write(ours.ours, "after", 5);
    CHECK(result == -1 && errno == EPIPE, "a write after the reset returned %zd (%s)", result,
          result < 0 ? strerror(errno) : "accepted");
}

static void reads_while_a_read_is_blocked(void) {
    char byte;
    int32_t self = own_task();
    make_both(0);
    handle(read_other);
    void *thread = in_thread(interrupt_then_reset, &self);
    check_reset("recv", recv(ours.ours, &byte, 1, 0));
    joined(thread);
}

static void reads_while_a_sendfile_is_blocked(void) {
    enum { FILE_BYTES = 1 << 20 };
    char answer[10];
    int32_t self = own_task();
    int file = memfd_create("file", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, FILE_BYTES) == 0, "no file: %s", strerror(errno));
    make_both(SMALL_BUFFERS);
    handle(read_other);
    fcntl(ours.ours, F_SETFL, O_NONBLOCK);
    for (int rest = 0; rest < 4; rest++, raw_sleep(300)) { /* window probes find a little room */
        off_t at = 0;
        while (sendfile(ours.ours, file, &at, 700) > 0)
            ;
    }
    fcntl(ours.ours, F_SETFL, 0);
    reply(&ours, sizeof(answer)); /* a new message begins, for which nothing is known to be full */
    CHECK(recv(ours.ours, answer, sizeof(answer), MSG_WAITALL) == sizeof(answer), "no answer");
    void *thread = in_thread(interrupt_then_reset, &self);
    check_reset("sendfile", sendfile(ours.ours, file, &(off_t){0}, 700));
    joined(thread);
}

/* ---- a handler moves bytes to the connection that it interrupted -------- */

enum { MOVED = 10, MOVED_SIGN = '!' };
static int moved_file, moved_pipe[2];
static char moved_bytes[MOVED];
static ssize_t (*move)(void);

static ssize_t by_sendfile(void) {
    return sendfile(ours.ours, moved_file, &(off_t){0}, MOVED);
}

static ssize_t by_sendfile_from_here(void) {
    return sendfile(ours.ours, moved_file, NULL, MOVED);
}

static ssize_t by_splice(void) {
    return splice(moved_pipe[0], NULL, ours.ours, NULL, MOVED, 0);
}

static ssize_t by_sendmmsg(void) {
    struct iovec part = {moved_bytes, MOVED};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    return sendmmsg(ours.ours, &message, 1, 0) == 1 ? (ssize_t)message.msg_len : -1;
}

static void move_here(int number) {
    (void)number;
    handled += move() == MOVED;
}

/* Interrupts the main thread, which is blocked; then reads all that comes, but for the moved bytes. */
static int32_t interrupted_task;

static void *interrupt_then_read(void *argument) {
    static char buffer[65536];
    uint64_t *moved = argument;
    long n;
    interrupt(interrupted_task);
    while ((n = raw(SYS_recvfrom, ours.theirs, (long)buffer, sizeof(buffer), 0, 0, 0)) > 0)
        for (long i = 0; i < n; i++) {
            if (buffer[i] == MOVED_SIGN) {
                (*moved)++;
                continue;
            }
            CHECK(buffer[i] == *content(ours.received), "byte %llu is wrong",
                  (unsigned long long)ours.received);
            ours.received++;
        }
    CHECK(n == 0, "their end: %s", strerror((int)-n));
    return NULL;
}

static void moves_while_a_write_is_blocked(void) {
    static ssize_t (*const ways[])(void) = {by_sendfile, by_sendfile_from_here, by_splice, by_sendmmsg};
    sigset_t mask;
    memset(moved_bytes, MOVED_SIGN, MOVED);
    moved_file = memfd_create("moved", MFD_CLOEXEC);
    CHECK(write(moved_file, moved_bytes, MOVED) == MOVED && lseek(moved_file, 0, SEEK_SET) == 0 &&
              pipe(moved_pipe) == 0 && write(moved_pipe[1], moved_bytes, MOVED) == MOVED,
          "nothing to move");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        uint64_t moved = 0;
        interrupted_task = own_task();
        move = ways[i];
        ours = pair_warm(SMALL_BUFFERS);
        handle(move_here);
        fcntl(ours.ours, F_SETFL, O_NONBLOCK);
        fill_for_good(&ours);
        overfill(&ours);
        fcntl(ours.ours, F_SETFL, 0);
        sigemptyset(&mask);
        sigaddset(&mask, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &mask, NULL);
        void *thread = in_thread(interrupt_then_read, &moved);
        pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
        for (uint64_t all = ours.put + 9000; ours.put < all;)
            CHECK(put(&ours, all - ours.put) > 0 || errno == EINTR, "write: %s", strerror(errno));
        close(ours.ours);
        joined(thread);
        CHECK(handled == 1 && moved == MOVED && ours.received == ours.put,
              "way %zu: %d handled, %d moved bytes, %llu of %llu others", i, (int)handled, (int)moved,
              (unsigned long long)ours.received, (unsigned long long)ours.put);
        raw(SYS_close, ours.theirs, 0, 0, 0, 0, 0);
    }
}

CASE("a handler moves bytes while a write is blocked", moves_while_a_write_is_blocked())
CASE("a handler reads while a read is blocked", reads_while_a_read_is_blocked())
CASE("a handler reads while a sendfile is blocked", reads_while_a_sendfile_is_blocked())
