/* SPDX-License-Identifier: MIT
 *
 * The first simple preload: TCP_NODELAY on every socket of type SOCK_STREAM that socket() makes.  Accepted
 * connections have it when it was set on the listening socket.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

int socket(int domain, int type, int protocol) {
    int (*next)(int, int, int);
    *(void **)&next = dlsym(RTLD_NEXT, "socket");
    int fd = next(domain, type, protocol);
    if (fd >= 0 && (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_STREAM) {
        int kept = errno;
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        errno = kept;
    }
    return fd;
}
