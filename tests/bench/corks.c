/* SPDX-License-Identifier: MIT
 *
 * A preload that corks: TCP_CORK before the first write to a TCP socket, off again
 * before the next read or wait.  Enough of it for the programs of the benchmark.
 */
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TABLE = 65536 };

static bool tcp[TABLE];
static _Thread_local int corked = -1;

static ssize_t (*next_write)(int, const void *, size_t);
static ssize_t (*next_read)(int, void *, size_t);
static int (*next_socket)(int, int, int);
static int (*next_accept)(int, struct sockaddr *, socklen_t *);
static int (*next_epoll_wait)(int, struct epoll_event *, int, int);

__attribute__((constructor)) static void find(void) {
    *(void **)&next_write = dlsym(RTLD_NEXT, "write");
    *(void **)&next_read = dlsym(RTLD_NEXT, "read");
    *(void **)&next_socket = dlsym(RTLD_NEXT, "socket");
    *(void **)&next_accept = dlsym(RTLD_NEXT, "accept");
    *(void **)&next_epoll_wait = dlsym(RTLD_NEXT, "epoll_wait");
}

static void set_cork(int fd, int on) {
    setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
}

static void uncork(void) {
    if (corked < 0)
        return;
    set_cork(corked, 0);
    corked = -1;
}

int socket(int domain, int type, int protocol) {
    int fd = next_socket(domain, type, protocol);
    if (fd >= 0 && fd < TABLE)
        tcp[fd] = (type & 15) == SOCK_STREAM && (domain == AF_INET || domain == AF_INET6);
    return fd;
}

int accept(int fd, struct sockaddr *address, socklen_t *length) {
    int got = next_accept(fd, address, length);
    if (got >= 0 && got < TABLE)
        tcp[got] = true;
    return got;
}

ssize_t write(int fd, const void *bytes, size_t count) {
    if (corked != fd && fd >= 0 && fd < TABLE && tcp[fd]) {
        uncork();
        set_cork(fd, 1);
        corked = fd;
    }
    return next_write(fd, bytes, count);
}

ssize_t read(int fd, void *bytes, size_t count) {
    uncork();
    return next_read(fd, bytes, count);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout) {
    uncork();
    return next_epoll_wait(fd, events, most, timeout);
}
