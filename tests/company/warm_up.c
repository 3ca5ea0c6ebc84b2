/* SPDX-License-Identifier: MIT
 *
 * Preloaded beside the library by scripts/foreign-suites: before main, every process makes one
 * connection over loopback and plays the pattern on it (two small writes, a read), so that all of
 * the library is awake when the test begins.  The first forked child of each process does so again:
 * suites like the Linux Test Project run the test itself in a child, and there the library would have
 * no thread.  The runs without the library load this too: what differs then is its doing alone.
 *
 * The peer is a forked child: a peer thread would leave the process with libc's habits of a program
 * that has threads.  Afterwards the child and all descriptors are gone.  What cannot be had (no
 * descriptor, no process, no network) is done without.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    EXCHANGES = 24, /* enough for a habit to be known */
    HEAD = 40,
    BODY = 100,
    ANSWER = 60,
};

static pid_t (*real_fork)(void);

static int listener_on_loopback(struct sockaddr_in *address) {
    *address = (struct sockaddr_in){.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof *address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0)
        return -1;
    if (bind(listener, (struct sockaddr *)address, size) == 0 && listen(listener, 1) == 0 &&
        getsockname(listener, (struct sockaddr *)address, &size) == 0)
        return listener;
    close(listener);
    return -1;
}

/* Nothing here may wait for ever: the tests are other people's. */
static void bound_waits(int fd) {
    struct timeval second = {.tv_sec = 1};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
}

/* Acknowledges at once: without the library, too, no exchange waits 40 ms. */
static void answer_all(int fd) {
    char bytes[HEAD + BODY];
    for (int exchange = 0; exchange < EXCHANGES; exchange++) {
        for (size_t have = 0; have < sizeof bytes;) {
            setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));
            ssize_t got = recv(fd, bytes + have, sizeof bytes - have, 0);
            if (got <= 0)
                return;
            have += (size_t)got;
        }
        if (send(fd, bytes, ANSWER, MSG_NOSIGNAL) != ANSWER)
            return;
    }
}

static void ask_all(int fd) {
    char bytes[BODY] = {0};
    for (int exchange = 0; exchange < EXCHANGES; exchange++)
        if (send(fd, bytes, HEAD, MSG_NOSIGNAL) != HEAD ||
            send(fd, bytes, BODY, MSG_NOSIGNAL) != BODY ||
            recv(fd, bytes, ANSWER, MSG_WAITALL) != ANSWER)
            return;
}

static void exchange_with_child(int listener, const struct sockaddr_in *address) {
    pid_t child = real_fork();
    if (child == 0) {
        bound_waits(listener); /* accept(2) minds SO_RCVTIMEO; the accepted socket inherits it */
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            answer_all(fd);
        _exit(0);
    }
    if (child < 0)
        return;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        bound_waits(fd);
        if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
            ask_all(fd);
        close(fd);
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static void warm_up(void) {
    int kept = errno;
    struct sockaddr_in address;
    int listener = listener_on_loopback(&address);
    if (listener >= 0) {
        /* The child's end must not be the program's signal. */
        sigset_t ended, pending, before;
        sigemptyset(&ended);
        sigaddset(&ended, SIGCHLD);
        sigpending(&pending);
        sigprocmask(SIG_BLOCK, &ended, &before);
        exchange_with_child(listener, &address);
        if (!sigismember(&pending, SIGCHLD))
            while (sigtimedwait(&ended, NULL, &(struct timespec){0}) == SIGCHLD)
                continue;
        sigprocmask(SIG_SETMASK, &before, NULL);
        close(listener);
    }
    errno = kept;
}

__attribute__((constructor)) static void begin(void) {
    real_fork = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
    warm_up();
}

pid_t fork(void) {
    static volatile sig_atomic_t forked;
    bool first = !forked;
    forked = 1;
    if (!real_fork) /* another constructor comes first */
        begin();
    pid_t child = real_fork();
    if (child == 0 && first) {
        forked = 0;
        warm_up();
    }
    return child;
}
