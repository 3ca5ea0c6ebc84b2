/* SPDX-License-Identifier: MIT
 *
 * The life of sockets, and their options.  Forward only.
 */
#include "exports.h"

EXPORT int socket(int domain, int type, int protocol) {
    int fd = REAL(socket)(domain, type, protocol);
    shim_socket_made(fd, domain, type, protocol);
    return fd;
}

EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length) {
    struct call call = shim_connect_begins(fd);
    int result = REAL(connect)(fd, address, length);
    int error = errno;
    shim_connect_ended(call, result, error, address, length);
    errno = error;
    return result;
}
ALSO(__connect, connect)

EXPORT int accept(int fd, struct sockaddr *address, socklen_t *length) {
    hold_end_turn(PUSH_WAIT);
    int made = REAL(accept)(fd, address, length);
    shim_accepted(fd, made);
    return made;
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    hold_end_turn(PUSH_WAIT);
    int made = REAL(accept4)(fd, address, length, flags);
    shim_accepted(fd, made);
    return made;
}

EXPORT int listen(int fd, int backlog) {
    int result = REAL(listen)(fd, backlog);
    if (result == 0)
        shim_listens(fd);
    return result;
}

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t length) {
    shim_option_setting(fd, level, name);
    int result = REAL(setsockopt)(fd, level, name, value, length);
    if (result == 0)
        shim_option_set(fd, level, name, value, length);
    return result;
}

EXPORT int getsockopt(int fd, int level, int name, void *value, socklen_t *length) {
    int result = REAL(getsockopt)(fd, level, name, value, length);
    if (result == 0)
        shim_option_got(fd, level, name, value, *length);
    return result;
}

#ifdef WITH_TIME64
ALSO(__setsockopt64, setsockopt)
ALSO(__getsockopt64, getsockopt)
#endif

EXPORT int shutdown(int fd, int how) {
    int now = shim_shuts(fd, how);
    return now == SHIM_SHUT_LATER ? 0 : REAL(shutdown)(fd, now);
}
