/* SPDX-License-Identifier: MIT
 *
 * The calls that read.  Forward only: the path is shim_read.c.  The fortified forms
 * check the buffer's size and go to their own next function.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "exports.h"

static bool dont_wait(int flags) {
    return (flags & MSG_DONTWAIT) != 0;
}

static size_t iov_bytes(const struct iovec *iov, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += iov[i].iov_len;
    return bytes;
}

EXPORT ssize_t read(int fd, void *buffer, size_t bytes) {
    if (shim_ignores_read(fd))
        return REAL(read)(fd, buffer, bytes);
    struct call call = shim_read_begins(fd, false);
    return shim_read_ends(call, REAL(read)(fd, buffer, bytes), bytes);
}
ALSO(__read, read)

EXPORT ssize_t __read_chk(int fd, void *buffer, size_t bytes, size_t size) {
    if (shim_ignores_read(fd))
        return REAL(__read_chk)(fd, buffer, bytes, size);
    struct call call = shim_read_begins(fd, false);
    return shim_read_ends(call, REAL(__read_chk)(fd, buffer, bytes, size), bytes);
}

EXPORT ssize_t readv(int fd, const struct iovec *iov, int count) {
    if (shim_ignores_read(fd))
        return REAL(readv)(fd, iov, count);
    struct call call = shim_read_begins(fd, false);
    ssize_t got = REAL(readv)(fd, iov, count);
    return shim_read_ends(call, got, got > 0 && call.conn ? iov_bytes(iov, (size_t)count) : 0);
}

EXPORT ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags) {
    struct call call = shim_read_begins(fd, (flags & RWF_NOWAIT) != 0);
    ssize_t got = REAL(preadv2)(fd, iov, count, offset, flags);
    return shim_read_ends(call, got, got > 0 && call.conn ? iov_bytes(iov, (size_t)count) : 0);
}
ALSO(preadv64v2, preadv2)

EXPORT ssize_t recv(int fd, void *buffer, size_t bytes, int flags) {
    if (shim_ignores_read(fd))
        return REAL(recv)(fd, buffer, bytes, flags);
    struct call call = shim_read_begins(fd, dont_wait(flags));
    return shim_read_ends(call, REAL(recv)(fd, buffer, bytes, flags), bytes);
}
ALSO(__recv, recv)

EXPORT ssize_t __recv_chk(int fd, void *buffer, size_t bytes, size_t size, int flags) {
    if (shim_ignores_read(fd))
        return REAL(__recv_chk)(fd, buffer, bytes, size, flags);
    struct call call = shim_read_begins(fd, dont_wait(flags));
    return shim_read_ends(call, REAL(__recv_chk)(fd, buffer, bytes, size, flags), bytes);
}

EXPORT ssize_t recvfrom(int fd, void *buffer, size_t bytes, int flags, struct sockaddr *address,
                        socklen_t *length) {
    if (shim_ignores_read(fd))
        return REAL(recvfrom)(fd, buffer, bytes, flags, address, length);
    struct call call = shim_read_begins(fd, dont_wait(flags));
    return shim_read_ends(call, REAL(recvfrom)(fd, buffer, bytes, flags, address, length), bytes);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *buffer, size_t bytes, size_t size, int flags,
                              struct sockaddr *address, socklen_t *length) {
    if (shim_ignores_read(fd))
        return REAL(__recvfrom_chk)(fd, buffer, bytes, size, flags, address, length);
    struct call call = shim_read_begins(fd, dont_wait(flags));
    ssize_t got = REAL(__recvfrom_chk)(fd, buffer, bytes, size, flags, address, length);
    return shim_read_ends(call, got, bytes);
}

long by_syscall_recvmsg(int fd, struct msghdr *message, int flags) {
    struct call call = shim_read_begins(fd, dont_wait(flags));
    long got = REAL(syscall)(SYS_recvmsg, fd, message, flags);
    if (got >= 0)
        shim_descriptors_arrive(message);
    return shim_read_ends(call, got, 0);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    struct call call = shim_read_begins(fd, dont_wait(flags));
    ssize_t got = REAL(recvmsg)(fd, message, flags);
    if (got >= 0)
        shim_descriptors_arrive(message);
    return shim_read_ends(call, got,
                          got > 0 && call.conn ? iov_bytes(message->msg_iov, message->msg_iovlen) : 0);
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                    struct timespec *timeout) {
    struct call call = shim_read_begins(fd, dont_wait(flags));
    int got = REAL(recvmmsg)(fd, messages, count, flags, timeout);
    ssize_t bytes = got;
    for (int i = 0; i < got; i++) {
        shim_descriptors_arrive(&messages[i].msg_hdr);
        bytes += messages[i].msg_len;
    }
    ssize_t result = shim_read_ends(call, bytes, 0);
    return result < 0 ? -1 : got;
}

EXPORT int eventfd_read(int fd, eventfd_t *value) {
    shim_read_begins(fd, false);
    return REAL(eventfd_read)(fd, value);
}
