/* SPDX-License-Identifier: MIT
 *
 * The calls that read.  Forward only: the path is shim_read.c.
 */
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

/* EXPORT ssize_t name(parameters), which reads up to `most` bytes and waits unless `dont`.  The
 * fortified forms check the buffer's size and go to their own next function. */
#define READ(name, parameters, arguments, dont, most)                                      \
    NOINLINE ssize_t our_##name parameters {                                               \
        if (UNLIKELY(!fds_is_low(fd)) && shim_ignores_read(fd))                            \
            return REAL(name) arguments;                                                   \
        struct call call = shim_read_begins(fd, dont);                                     \
        ssize_t got = REAL(name) arguments;                                                \
        return shim_read_ends(call, got, most);                                            \
    }                                                                                      \
    EXPORT ssize_t name parameters {                                                       \
        if (fds_is_low(fd) && shim_ignores_read(fd) && REAL_FOUND(name) != NULL)           \
            return REAL_FOUND(name) arguments;                                             \
        return our_##name arguments;                                                       \
    }

/* After a read that succeeded the vector is readable: the kernel has followed it. */
#define ASKED(iov, count) (got > 0 && call.conn ? iov_bytes(iov, (size_t)(count)) : 0)

READ(read, (int fd, void *buffer, size_t bytes), (fd, buffer, bytes), false, bytes)
ALSO(__read, read)
READ(__read_chk, (int fd, void *buffer, size_t bytes, size_t size), (fd, buffer, bytes, size), false, bytes)
READ(readv, (int fd, const struct iovec *iov, int count), (fd, iov, count), false, ASKED(iov, count))
READ(preadv2, (int fd, const struct iovec *iov, int count, off_t offset, int flags),
     (fd, iov, count, offset, flags), (flags & RWF_NOWAIT) != 0, ASKED(iov, count))
#ifdef WITH_TIME64
READ(preadv64v2, (int fd, const struct iovec *iov, int count, off64_t offset, int flags),
     (fd, iov, count, offset, flags), (flags & RWF_NOWAIT) != 0, ASKED(iov, count))
#else
ALSO(preadv64v2, preadv2)
#endif
READ(recv, (int fd, void *buffer, size_t bytes, int flags), (fd, buffer, bytes, flags), dont_wait(flags),
     bytes)
ALSO(__recv, recv)
READ(__recv_chk, (int fd, void *buffer, size_t bytes, size_t size, int flags),
     (fd, buffer, bytes, size, flags), dont_wait(flags), bytes)
READ(recvfrom, (int fd, void *buffer, size_t bytes, int flags, struct sockaddr *address, socklen_t *length),
     (fd, buffer, bytes, flags, address, length), dont_wait(flags), bytes)
READ(__recvfrom_chk,
     (int fd, void *buffer, size_t bytes, size_t size, int flags, struct sockaddr *address, socklen_t
      *length), (fd, buffer, bytes, size, flags, address, length), dont_wait(flags), bytes)

ssize_t unstall_recvmsg(int fd, struct msghdr *message, int flags, bool raw) {
    struct call call = shim_read_begins(fd, dont_wait(flags));
    ssize_t got = raw ? REAL(syscall)(SYS_recvmsg, fd, message, flags)
                      : REAL(recvmsg)(fd, message, flags);
    if (got >= 0)
        shim_descriptors_arrive(message);
    return shim_read_ends(call, got, raw ? 0 : ASKED(message->msg_iov, message->msg_iovlen));
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    return unstall_recvmsg(fd, message, flags, false);
}

int unstall_messages_read(struct call call, struct mmsghdr *messages, int got) {
    ssize_t bytes = got < 0 ? got : 0; /* at the end of the stream the kernel returns empty messages */
    for (int i = 0; i < got; i++) {
        shim_descriptors_arrive(&messages[i].msg_hdr);
        bytes += messages[i].msg_len;
    }
    ssize_t result = shim_read_ends(call, bytes, 0);
    return result < 0 ? -1 : got;
}

#define READ_MESSAGES(name, times)                                                         \
    EXPORT int name(int fd, struct mmsghdr *messages, unsigned count, int flags,           \
                    struct times *timeout) {                                               \
        struct call call = shim_read_begins(fd, dont_wait(flags));                         \
        int got = REAL(name)(fd, messages, count, flags, timeout);                         \
        return unstall_messages_read(call, messages, got);                                 \
    }

READ_MESSAGES(recvmmsg, timespec)

#ifdef WITH_TIME64
READ_MESSAGES(__recvmmsg64, timespec64)

EXPORT ssize_t __recvmsg64(int fd, struct msghdr *message, int flags) {
    struct call call = shim_read_begins(fd, dont_wait(flags));
    ssize_t got = REAL(__recvmsg64)(fd, message, flags);
    if (got >= 0)
        shim_descriptors_arrive(message);
    return shim_read_ends(call, got, ASKED(message->msg_iov, message->msg_iovlen));
}
#endif

EXPORT FORWARD(shim_read_begins(fd, false), int, eventfd_read, (int fd, eventfd_t * value), (fd, value))
