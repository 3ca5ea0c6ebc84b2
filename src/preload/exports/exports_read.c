/* SPDX-License-Identifier: MIT
 *
 * The calls that read.  They forward only: the road is read.c.  The fortified forms check the buffer's
 * size, so each goes to its own next definition.
 *
 * A read of what is no known connection, in a thread without an open turn, needs nothing.
 * read and recv are called so often that they forward it by a jump; their rest is a function of its own,
 * because only that one needs a frame.
 */

#include "exports.h"

size_t exports_vector_bytes(const struct iovec *iov, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += iov[i].iov_len;
    return bytes;
}

static inline struct call read_begins(int fd, bool dont) {
    bool ignored = LIKELY(self.turn == NULL) && LIKELY(!fds_conn(fds_word(fd)));
    return ignored ? (struct call){0} : shim_read_begins(fd, dont);
}

/* The body of a read of up to `most` bytes by `next`, which waits unless `dont`. */
#define READ(dont, most, next)                    \
    {                                             \
        struct call call = read_begins(fd, dont); \
        ssize_t got = next;                       \
        return shim_read_ends(call, got, most);   \
    }

/* The same of a recv(2), with its flags. */
#define RECV(next)                                                        \
    {                                                                     \
        struct call call = read_begins(fd, flags & MSG_DONTWAIT);         \
        ssize_t got = next;                                               \
        return shim_recv_ends(call, got, RECV_ASKED(bytes), flags);       \
    }

/* The beginning of read and recv: a thread without an open turn jumps on, or in mode off only counts. */
#define JUMPS_ON(next, in_off, ...)                                     \
    if (LIKELY(self.turn == NULL)) {                                    \
        struct conn *c = fds_conn(fds_word(fd));                        \
        if (LIKELY(!c) && REAL_FOUND(next) != NULL)                     \
            return REAL_FOUND(next)(__VA_ARGS__);                       \
        if (c && UNLIKELY(shim_only_counts_reads(c)) && gate_is_open()) \
            return in_off(__VA_ARGS__, c);                              \
    }

/* The body of a read in mode off: forward, count.  The order of the arguments costs it no move. */
#define COUNTED(asked, next)                                                             \
    {                                                                                    \
        struct call call = {c, LOAD(&c->generation)};                                    \
        ssize_t got = next;                                                              \
        return got > 0 ? shim_count_input(call, got) : shim_read_ends(call, got, asked); \
    }

NOINLINE ssize_t read_in_off(int fd, void *buffer, size_t bytes, struct conn *c)
    COUNTED(bytes, REAL_FOUND(read)(fd, buffer, bytes))
NOINLINE ssize_t watched_read(int fd, void *buffer, size_t bytes) {
    struct call call = shim_read_begins(fd, false);
    return shim_read_ends(call, REAL(read)(fd, buffer, bytes), bytes);
}
EXPORT ssize_t read(int fd, void *buffer, size_t bytes) {
    JUMPS_ON(read, read_in_off, fd, buffer, bytes)
    return watched_read(fd, buffer, bytes);
}
ALSO(__read, read)

EXPORT ssize_t __read_chk(int fd, void *buffer, size_t bytes, size_t size)
    READ(false, bytes, REAL(__read_chk)(fd, buffer, bytes, size))

EXPORT ssize_t readv(int fd, const struct iovec *iov, int count) {
    struct call call = read_begins(fd, false);
    ssize_t got = REAL(readv)(fd, iov, count);
    return shim_read_ends(call, got, ASKED(iov, count));
}

EXPORT ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
    READ(flags & RWF_NOWAIT, ASKED(iov, count), REAL(preadv2)(fd, iov, count, offset, flags))
#ifdef WITH_TIME64
EXPORT ssize_t preadv64v2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
    READ(flags & RWF_NOWAIT, ASKED(iov, count), REAL(preadv64v2)(fd, iov, count, offset, flags))
#else
ALSO(preadv64v2, preadv2)
#endif

NOINLINE ssize_t watched_recv(int fd, void *buffer, size_t bytes, int flags) {
    struct call call = shim_read_begins(fd, flags & MSG_DONTWAIT);
    return shim_recv_ends(call, REAL(recv)(fd, buffer, bytes, flags), RECV_ASKED(bytes), flags);
}
NOINLINE ssize_t recv_in_off(int fd, void *buffer, size_t bytes, int flags, struct conn *c) {
    if (UNLIKELY(flags & (MSG_PEEK | MSG_ERRQUEUE)))
        return watched_recv(fd, buffer, bytes, flags);
    COUNTED(RECV_ASKED(bytes), REAL_FOUND(recv)(fd, buffer, bytes, flags))
}
EXPORT ssize_t recv(int fd, void *buffer, size_t bytes, int flags) {
    JUMPS_ON(recv, recv_in_off, fd, buffer, bytes, flags)
    return watched_recv(fd, buffer, bytes, flags);
}
ALSO(__recv, recv)

EXPORT ssize_t recvfrom(int fd, void *buffer, size_t bytes, int flags, struct sockaddr *address,
                        socklen_t *length) {
    struct call call = read_begins(fd, flags & MSG_DONTWAIT);
    ssize_t got = REAL(recvfrom)(fd, buffer, bytes, flags, address, length);
    return shim_recv_ends(call, got, RECV_ASKED(bytes), flags);
}

EXPORT ssize_t __recv_chk(int fd, void *buffer, size_t bytes, size_t size, int flags)
    RECV(REAL(__recv_chk)(fd, buffer, bytes, size, flags))
EXPORT ssize_t __recvfrom_chk(int fd, void *buffer, size_t bytes, size_t size, int flags,
                              struct sockaddr *address, socklen_t *length)
    RECV(REAL(__recvfrom_chk)(fd, buffer, bytes, size, flags, address, length))

/* The body of a recvmsg by `next`. */
#define RECEIVE(next)                                                                                \
    {                                                                                                \
        struct call call = shim_read_begins(fd, flags & MSG_DONTWAIT);                               \
        ssize_t got = next;                                                                          \
        if (got >= 0)                                                                                \
            shim_descriptors_arrive(message);                                                        \
        return shim_recv_ends(call, got, RECV_ASKED(ASKED(message->msg_iov, message->msg_iovlen)),   \
                              flags);                                                                \
    }

ssize_t unstall_recvmsg(int fd, struct msghdr *message, int flags, bool raw)
    RECEIVE(raw ? REAL(syscall)(SYS_recvmsg, fd, message, flags) : REAL(recvmsg)(fd, message, flags))

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    return unstall_recvmsg(fd, message, flags, false);
}

int unstall_messages_read(struct call call, struct mmsghdr *messages, unsigned count, int flags, int got) {
    ssize_t bytes = got < 0 ? got : 0; /* at the end of the stream the kernel returns empty messages */
    size_t asked = 0;
    for (int i = 0; i < got; i++) {
        const struct msghdr *message = &messages[i].msg_hdr;
        shim_descriptors_arrive(message);
        bytes += messages[i].msg_len;
        asked += ASKED(message->msg_iov, message->msg_iovlen);
    }
    bool all = got < 0 || (unsigned)got == count; /* else nothing more was there */
    if (bytes == 0)
        asked = 1; /* recvmmsg(2) takes an error before all input */
    ssize_t result = shim_recv_ends(call, bytes, asked + !all, flags);
    return result < 0 ? -1 : got;
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout) {
    struct call call = shim_read_begins(fd, flags & MSG_DONTWAIT);
    return unstall_messages_read(call, messages, count, flags,
                                 REAL(recvmmsg)(fd, messages, count, flags, timeout));
}

EXPORT int eventfd_read(int fd, eventfd_t *value)
    FORWARD(shim_read_begins(fd, false), eventfd_read, fd, value)

#ifdef WITH_TIME64
/* ---- the same with 64-bit times ---------------------------------------- */

EXPORT int __recvmmsg64(int fd, struct mmsghdr *messages, unsigned count, int flags,
                        struct timespec64 *timeout) {
    struct call call = shim_read_begins(fd, flags & MSG_DONTWAIT);
    return unstall_messages_read(call, messages, count, flags,
                                 REAL(__recvmmsg64)(fd, messages, count, flags, timeout));
}

EXPORT ssize_t __recvmsg64(int fd, struct msghdr *message, int flags)
    RECEIVE(REAL(__recvmsg64)(fd, message, flags))
#endif
