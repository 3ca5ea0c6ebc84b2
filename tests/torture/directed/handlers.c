/* SPDX-License-Identifier: MIT
 *
 * A handler that uses another connection, while a call on this one is blocked: what
 * the blocked call then brings is not lost.
 */
#include "directed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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
    close(earlier.ours);
    raw(SYS_close, earlier.theirs, 0, 0, 0, 0, 0);
    ours = pair_warm(options);
    other = pair_make(0);
    reply(&other, 10);
}

/* Interrupts the main thread after 50 ms; after 100 more their end is gone, by a reset. */
static void *interrupt_then_reset(void *argument) {
    static const struct linger none = {.l_onoff = 1};
    raw_sleep(50);
    pthread_kill(*(pthread_t *)argument, SIGUSR1);
    raw_sleep(100);
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
    pthread_t self = pthread_self();
    make_both(0);
    handle(read_other);
    void *thread = in_thread(interrupt_then_reset, &self);
    check_reset("recv", recv(ours.ours, &byte, 1, 0));
    joined(thread);
}

static void reads_while_a_sendfile_is_blocked(void) {
    enum { FILE_BYTES = 1 << 20 };
    char answer[10];
    pthread_t self = pthread_self();
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

const struct test_case handler_cases[] = {
    {"a handler reads while a read is blocked", reads_while_a_read_is_blocked},
    {"a handler reads while a sendfile is blocked", reads_while_a_sendfile_is_blocked},
    {NULL, NULL},
};
