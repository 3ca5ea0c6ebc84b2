/* SPDX-License-Identifier: MIT
 *
 * The life of descriptors.  Forward only: the path is shim_life.c.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "exports.h"
#include "hold.h"
#include "process.h"

static int unstall_close(int fd) {
    shim_closing(fd);
    return REAL(close)(fd);
}

static int unstall_close_range(unsigned first, unsigned last, int flags) {
    if (!(flags & CLOSE_RANGE_CLOEXEC))
        shim_closing_range(first, last);
    return REAL(close_range)(first, last, flags);
}

static int unstall_dup(int fd) {
    int copy = REAL(dup)(fd);
    shim_duplicated(fd, copy);
    return copy;
}

static int unstall_dup2(int fd, int to) {
    shim_replacing(fd, to);
    int copy = REAL(dup2)(fd, to);
    shim_duplicated(fd, copy);
    return copy;
}

static int unstall_dup3(int fd, int to, int flags) {
    shim_replacing(fd, to);
    int copy = REAL(dup3)(fd, to, flags);
    shim_duplicated(fd, copy);
    return copy;
}

static int unstall_fcntl(int fd, int command, void *argument) {
    if (command == F_SETLKW || command == F_OFD_SETLKW)
        hold_end_turn(PUSH_WAIT);
    int result = REAL(fcntl)(fd, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        shim_duplicated(fd, result);
    return result;
}

/* ---- the exported names ---------------------------------------------- */

EXPORT int close(int fd) {
    return unstall_close(fd);
}
ALSO(__close, close)

EXPORT int close_range(unsigned first, unsigned last, int flags) {
    return unstall_close_range(first, last, flags);
}

EXPORT void closefrom(int first) {
    shim_closing_range(first < 0 ? 0 : (unsigned)first, ~0U);
    REAL(closefrom)(first);
}

EXPORT int dup(int fd) {
    return unstall_dup(fd);
}

EXPORT int dup2(int fd, int to) {
    return unstall_dup2(fd, to);
}
ALSO(__dup2, dup2)

EXPORT int dup3(int fd, int to, int flags) {
    return unstall_dup3(fd, to, flags);
}

EXPORT int fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return unstall_fcntl(fd, command, argument);
}
ALSO(fcntl64, fcntl)
ALSO(__fcntl, fcntl)

/* ---- syscall(2) ------------------------------------------------------ */

/* jump.S sends the numbers below here and all others straight on, so that a
 * number that we do not know (clone, vfork …) sees no frame of ours. */
static long known_call(long n, long a, long b, long c, long d, long e, long f) {
    switch (n) {
    case SYS_write: return write((int)a, (const void *)b, (size_t)c);
    case SYS_writev: return writev((int)a, (const struct iovec *)b, (int)c);
    case SYS_sendto:
        return sendto((int)a, (const void *)b, (size_t)c, (int)d,
                      (__CONST_SOCKADDR_ARG)(const struct sockaddr *)e, (socklen_t)f);
    case SYS_sendmsg: return sendmsg((int)a, (const struct msghdr *)b, (int)c);
    case SYS_sendmmsg: return sendmmsg((int)a, (struct mmsghdr *)b, (unsigned)c, (int)d);
    case SYS_pwritev2: /* the kernel's own form has the offset in two halves, of which 64 bits use one */
        return pwritev2((int)a, (const struct iovec *)b, (int)c, d, (int)f);
    case SYS_sendfile: return sendfile((int)a, (int)b, (off_t *)c, (size_t)d);
    case SYS_splice:
        return splice((int)a, (off64_t *)b, (int)c, (off64_t *)d, (size_t)e, (unsigned)f);
    case SYS_read: return read((int)a, (void *)b, (size_t)c);
    case SYS_readv: return readv((int)a, (const struct iovec *)b, (int)c);
    case SYS_recvfrom:
        return recvfrom((int)a, (void *)b, (size_t)c, (int)d, (__SOCKADDR_ARG)(struct sockaddr *)e,
                        (socklen_t *)f);
    case SYS_recvmsg: return recvmsg((int)a, (struct msghdr *)b, (int)c);
    case SYS_close: return close((int)a);
    case SYS_close_range: return close_range((unsigned)a, (unsigned)b, (int)c);
    case SYS_exit_group: process_ends(); break;
    case SYS_unshare:
    case SYS_setns: process_wants_one_thread(); break;
    case SYS_execve:
    case SYS_execveat:
        process_is_replaced();
        return process_stays((int)REAL(syscall)(n, a, b, c, d, e, f));
    case SYS_prctl: return prctl((int)a, b, c, d, e);
    case SYS_io_uring_setup: {
        long ring = REAL(syscall)(n, a, b, c, d, e, f);
        if (ring >= 0)
            shim_uring();
        return ring;
    }
    case SYS_seccomp: {
        bool filter = a == SECCOMP_SET_MODE_FILTER || a == SECCOMP_SET_MODE_STRICT;
        if (filter)
            process_filters();
        long result = REAL(syscall)(n, a, b, c, d, e, f);
        if (filter)
            process_filtered(result >= 0);
        return result;
    }
    default: break;
    }
    return REAL(syscall)(n, a, b, c, d, e, f);
}

/* syscall(2) is no cancellation point; what it becomes here would be one. */
long unstall_syscall(long n, long a, long b, long c, long d, long e, long f) {
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    long result = known_call(n, a, b, c, d, e, f);
    pthread_setcancelstate(cancel, NULL);
    return result;
}

void *unstall_syscall_next(void) {
    return (void *)(uintptr_t)REAL(syscall);
}
