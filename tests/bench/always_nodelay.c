/* SPDX-License-Identifier: MIT
 *
 * The simplest preload: it sets TCP_NODELAY on every socket at its creation.
 */
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static int (*next_socket)(int, int, int);
static int (*next_accept4)(int, struct sockaddr *, socklen_t *, int);

__attribute__((constructor)) static void find(void) {
    *(void **)&next_socket = dlsym(RTLD_NEXT, "socket");
    *(void **)&next_accept4 = dlsym(RTLD_NEXT, "accept4");
}

static void no_delay(int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int socket(int domain, int type, int protocol) {
    int fd = next_socket(domain, type, protocol);
    if (fd >= 0 && (type & 15) == SOCK_STREAM && (domain == AF_INET || domain == AF_INET6))
        no_delay(fd);
    return fd;
}

int accept(int fd, struct sockaddr *address, socklen_t *length) {
    int got = next_accept4(fd, address, length, 0);
    if (got >= 0)
        no_delay(got);
    return got;
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    int got = next_accept4(fd, address, length, flags);
    if (got >= 0)
        no_delay(got);
    return got;
}
