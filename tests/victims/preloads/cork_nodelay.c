/* SPDX-License-Identifier: MIT
 *
 * The second simple preload, in the manner of libautocork (2007): where the program asks for TCP_NODELAY, the
 * socket is corked instead; the cork is drawn and put back before a read or a select that could
 * wait for the answer.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TABLE = 65536 };

static bool corked[TABLE];
static int last; // the highest descriptor that was ever corked

#define NEXT(name, result, ...)         \
    static result (*next)(__VA_ARGS__); \
    if (!next)                          \
    *(void **)&next = dlsym(RTLD_NEXT, #name)

static int set(int fd, int level, int option, const void *value, socklen_t length) {
    NEXT(setsockopt, int, int, int, int, const void *, socklen_t);
    return next(fd, level, option, value, length);
}

static void put_cork(int fd, int on) {
    int kept = errno;
    set(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
    errno = kept;
}

// Drawing the cork pushes only where Nagle's algorithm is off, and the program asked for that.
static void uncork(int fd) {
    if (fd >= 0 && fd < TABLE && corked[fd]) {
        put_cork(fd, 0);
        put_cork(fd, 1);
    }
}

static void let_all_go(void) {
    for (int fd = 0; fd <= last; fd++)
        uncork(fd);
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t length) {
    int result = set(fd, level, option, value, length);
    if (result == 0 && level == IPPROTO_TCP && option == TCP_NODELAY && fd < TABLE) {
        corked[fd] = *(const int *)value != 0;
        if (corked[fd] && fd > last)
            last = fd;
        put_cork(fd, corked[fd]);
    }
    return result;
}

int close(int fd) {
    NEXT(close, int, int);
    if (fd >= 0 && fd < TABLE)
        corked[fd] = false;
    return next(fd);
}

ssize_t read(int fd, void *bytes, size_t count) {
    NEXT(read, ssize_t, int, void *, size_t);
    uncork(fd);
    return next(fd, bytes, count);
}

ssize_t recv(int fd, void *bytes, size_t count, int flags) {
    NEXT(recv, ssize_t, int, void *, size_t, int);
    uncork(fd);
    return next(fd, bytes, count, flags);
}

ssize_t recvfrom(int fd, void *bytes, size_t count, int flags, struct sockaddr *from, socklen_t *length) {
    NEXT(recvfrom, ssize_t, int, void *, size_t, int, struct sockaddr *, socklen_t *);
    uncork(fd);
    return next(fd, bytes, count, flags, from, length);
}

int select(int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *most) {
    NEXT(select, int, int, fd_set *, fd_set *, fd_set *, struct timeval *);
    let_all_go();
    return next(count, in, out, other, most);
}

int poll(struct pollfd *items, nfds_t count, int most) {
    NEXT(poll, int, struct pollfd *, nfds_t, int);
    let_all_go();
    return next(items, count, most);
}

int epoll_wait(int fd, struct epoll_event *events, int count, int most) {
    NEXT(epoll_wait, int, int, struct epoll_event *, int, int);
    let_all_go();
    return next(fd, events, count, most);
}
