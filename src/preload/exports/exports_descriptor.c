/* SPDX-License-Identifier: MIT
 *
 * The life of descriptors and sockets, and their options.  They forward only: the road is fd_events.c.
 */
#include <linux/close_range.h>

#include "exports.h"

/* ---- descriptors ---------------------------------------------------------- */

EXPORT int close(int fd) {
    shim_closing(fd);
    return REAL(close)(fd);
}
ALSO(__close, close)

/* The kernel refuses unknown flags and closes nothing.  The numbers before each spared one are closed by a
 * call of their own.  CLOSE_RANGE_UNSHARE does an unshare(CLONE_FILES) first. */
bool exports_closes_range(unsigned *first, unsigned last, int flags, uint32_t *barred) {
    if (flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC))
        return true;
    *barred = flags & CLOSE_RANGE_UNSHARE ? rights_change(SYS_unshare, CLONE_FILES) : 0;
    if (flags & CLOSE_RANGE_CLOEXEC)
        return true;
    shim_closing_range(*first, last);
    for (unsigned spared; shim_spared(*first, last, &spared); *first = spared + 1) {
        if (spared > *first && raw3(SYS_close_range, *first, spared - 1, flags) < 0)
            return true; /* before Linux 5.9: the program's call fails, too */
        if (spared == last)
            return false;
    }
    return true;
}

EXPORT int close_range(unsigned first, unsigned last, int flags) {
    uint32_t barred = 0;
    int result = 0;
    if (exports_closes_range(&first, last, flags, &barred))
        result = REAL(close_range)(first, last, flags);
    rights_changed(barred);
    return result;
}

EXPORT void closefrom(int first) {
    unsigned from = first < 0 ? 0 : (unsigned)first;
    uint32_t barred = 0;
    exports_closes_range(&from, ~0U, 0, &barred);
    REAL(closefrom)((int)from);
}

EXPORT int dup(int fd) {
    return shim_duplicated(fd, REAL(dup)(fd));
}

EXPORT int dup2(int fd, int to) {
    shim_replacing(fd, to);
    return shim_duplicated(fd, REAL(dup2)(fd, to));
}
ALSO(__dup2, dup2)

EXPORT int dup3(int fd, int to, int flags) {
    if (!(flags & ~O_CLOEXEC))
        shim_replacing(fd, to);
    return shim_duplicated(fd, REAL(dup3)(fd, to, flags));
}

void exports_controls(int command) {
    switch (command) {
#if F_SETLKW64 != F_SETLKW
    case F_SETLKW64:
#endif
    case F_SETLKW:
    case F_OFD_SETLKW: hold_end_turn(PUSH_WAIT);
    }
}

int exports_controlled(int fd, int command, int result) {
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? shim_duplicated(fd, result) : result;
}

EXPORT int fcntl(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    exports_controls(command);
    return exports_controlled(fd, command, REAL(fcntl)(fd, command, argument));
}
ALSO(__fcntl, fcntl)
#ifdef WITH_TIME64
EXPORT int fcntl64(int fd, int command, ...) CONTROL(fcntl64)
ALSO(__fcntl_time64, fcntl64)
#else
ALSO(fcntl64, fcntl)
#endif

/* ---- sockets -------------------------------------------------------------- */

EXPORT int socket(int domain, int type, int protocol) {
    int fd = REAL(socket)(domain, type, protocol);
    shim_socket_made(fd, domain, type, protocol);
    return fd;
}

EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length) {
    struct call call = shim_connect_begins(fd);
    int result = REAL(connect)(fd, address, length);
    shim_connect_ended(call, result, address, length);
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
