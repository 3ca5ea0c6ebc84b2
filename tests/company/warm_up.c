/* SPDX-License-Identifier: MIT
 *
 * Preloaded beside the library by scripts/foreign-suites: before main, every process makes one
 * connection over loopback and plays the pattern on it (two small writes, a read), so that all of
 * the library is awake when the test begins, and in the midst of a message: one more small write
 * follows, which the library holds or buffers where it may.  The first forked child of each program
 * does so again: suites like the Linux Test Project run the test itself in a child.  (Not the child's
 * children: tests watch them until they sleep, and would take our recv for their wait.)  The runs
 * without the library load this too: so only the library differs then.
 *
 * One thread plays both ends: a peer thread or a child would leave the process with libc's habits of
 * a program with threads, a signal, and times of children.  Both ends stay open, under numbers that
 * few tests look at.  It does without a descriptor or a network if there is none.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    EXCHANGES = 24, /* enough for a habit to be known */
    HEAD = 40,
    BODY = 100,
    ANSWER = 60,
    ASIDE = 200, /* the lowest number of a descriptor that stays */
};

static pid_t (*real_fork)(void);

/* fd under a high number, where no wait lasts: the tests are other people's. */
static int aside(int fd) {
    if (fd < 0)
        return -1;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, ASIDE);
    close(fd);
    struct timeval second = {.tv_sec = 1};
    setsockopt(high, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    setsockopt(high, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    return high;
}

/* Both ends of a connection; false where none can be had, and then nothing stays open. */
static bool connected(int ends[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    ends[0] = ends[1] = -1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0)
        return false;
    if (bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0 &&
        getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
        (ends[0] = aside(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))) >= 0 &&
        connect(ends[0], (struct sockaddr *)&address, size) == 0)
        ends[1] = aside(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
    close(listener);
    if (ends[1] >= 0)
        return true;
    if (ends[0] >= 0)
        close(ends[0]);
    return false;
}

/* Acknowledges at once: without the library, too, no exchange waits 40 ms. */
static bool receives(int fd, size_t size) {
    char bytes[HEAD + BODY];
    for (size_t have = 0; have < size;) {
        setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));
        ssize_t got = recv(fd, bytes + have, size - have, 0);
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

static bool sends(int fd, size_t size) {
    char bytes[HEAD + BODY] = {0};
    return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static void warm_up(void) {
    int kept = errno;
    int ends[2];
    if (connected(ends)) {
        bool well = true;
        for (int exchange = 0; well && exchange < EXCHANGES; exchange++)
            well = sends(ends[0], HEAD) && sends(ends[0], BODY) && receives(ends[1], HEAD + BODY) &&
                   sends(ends[1], ANSWER) && receives(ends[0], ANSWER);
        sends(ends[0], HEAD);
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
    if (child == 0 && first)
        warm_up();
    return child;
}
