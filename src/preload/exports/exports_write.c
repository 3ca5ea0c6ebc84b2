/* SPDX-License-Identifier: MIT
 *
 * The calls that write.  Forward only: the path is shim_write.c.
 */
#include <limits.h>
#include <sys/syscall.h>

#include "exports.h"
#include "shim_reentry.h"

#define CALLER   ((uintptr_t)__builtin_return_address(0)) /* the place in the program that called */
#define OUT(...) &(struct write_request){.fd = fd, .caller = CALLER, __VA_ARGS__}

/* EXPORT ssize_t name(parameters), a write of one buffer. */
#define WRITE_BY_SHIM(name, parameters, arguments, flags, form)                       \
    NOINLINE ssize_t high_##name(ALL parameters, uintptr_t caller) {                  \
        if (shim_passes(fd))                                                          \
            return REAL(name) arguments;                                              \
        return shim_write_fast(fd, buffer, bytes, flags, form, caller);               \
    }                                                                                 \
    EXPORT ssize_t name parameters {                                                  \
        if (UNLIKELY(!fds_is_low(fd)))                                                \
            return high_##name(ALL arguments, CALLER);                                \
        if (shim_passes(fd) && LIKELY(REAL_FOUND(name) != NULL))                      \
            return REAL_FOUND(name) arguments;                                        \
        return shim_write_fast(fd, buffer, bytes, flags, form, CALLER);               \
    }

WRITE_BY_SHIM(write, (int fd, const void *buffer, size_t bytes), (fd, buffer, bytes), 0, FORM_WRITE)
ALSO(__write, write)

NOINLINE ssize_t our_writev(int fd, const struct iovec *iov, int count, uintptr_t caller) {
    if (UNLIKELY(!fds_is_low(fd)) && shim_passes(fd))
        return REAL(writev)(fd, iov, count);
    return shim_write(&(struct write_request){
        .fd = fd, .form = FORM_WRITEV, .caller = caller, .iov = iov, .iov_count = count});
}

EXPORT ssize_t writev(int fd, const struct iovec *iov, int count) {
    if (LIKELY(fds_is_low(fd)) && shim_passes(fd) && LIKELY(REAL_FOUND(writev) != NULL))
        return REAL_FOUND(writev)(fd, iov, count);
    return our_writev(fd, iov, count, CALLER);
}

WRITE_BY_SHIM(send, (int fd, const void *buffer, size_t bytes, int flags), (fd, buffer, bytes, flags), flags,
              FORM_SEND)
ALSO(__send, send)

EXPORT ssize_t sendto(int fd, const void *buffer, size_t bytes, int flags,
                      const struct sockaddr *address, socklen_t length) {
    if (LIKELY(!address && !length))
        return shim_write_fast(fd, buffer, bytes, flags, FORM_SENDTO, CALLER);
    return shim_write(OUT(.form = FORM_SENDTO, .buffer = buffer, .bytes = bytes, .flags = flags,
                          .address = address, .address_length = length));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    return shim_write_message(OUT(.form = FORM_SENDMSG, .message = message, .flags = flags));
}
#ifdef WITH_TIME64
ALSO(__sendmsg64, sendmsg)
#endif

/* With flags (RWF_NOWAIT) a write is neither held nor buffered, but it stays behind buffered bytes. */
ssize_t unstall_pwritev2_flags(int fd, const struct iovec *iov, int count, int flags, bool raw,
                               uintptr_t caller) {
    struct call call;
    enum bulk bulk = reentry_stands_behind(fd)
                         ? BULK_ASIDE
                         : shim_bulk_begins(fd, flags & RWF_NOWAIT ? MSG_DONTWAIT : 0, raw, &call);
    if (bulk == BULK_ASIDE)
        return reentry_write(&(struct write_request){
            .fd = fd, .form = FORM_PWRITEV2, .raw = raw, .iov = iov, .iov_count = count});
    if (bulk == BULK_FAILS)
        return -1;
    ssize_t sent = raw ? REAL(syscall)(SYS_pwritev2, fd, iov, count, -1L, -1L, flags)
                       : REAL(pwritev2)(fd, iov, count, -1, flags);
    shim_bulk_ended(call, fd, 1, sent, false, caller);
    return sent;
}

#define WRITES_AT(name, type)                                                                \
    EXPORT ssize_t name(int fd, const struct iovec *iov, int count, type offset, int flags) { \
        if (offset == -1 && !flags)                                                          \
            return shim_write(OUT(.form = FORM_PWRITEV2, .iov = iov, .iov_count = count));   \
        if (offset == -1)                                                                    \
            return unstall_pwritev2_flags(fd, iov, count, flags, false, CALLER);             \
        shim_other_write(fd);                                                                \
        return REAL(name)(fd, iov, count, offset, flags);                                    \
    }

WRITES_AT(pwritev2, off_t)
#ifdef WITH_TIME64
WRITES_AT(pwritev64v2, off64_t)
#else
ALSO(pwritev64v2, pwritev2)
#endif

EXPORT FORWARD(shim_other_write(fd), int, eventfd_write, (int fd, eventfd_t value), (fd, value))

/* ---- calls that can be neither held nor buffered ------------------------ */

int unstall_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, bool raw,
                     uintptr_t caller) {
    struct call call;
    if (reentry_stands_behind(fd))
        return reentry_messages(fd, messages, count, flags);
    bool acted = LOAD(&hold_acted);
    if (acted)
        shim_messages_leave(messages, count);
    enum bulk bulk = shim_bulk_begins(fd, flags, raw, &call);
    if (bulk != BULK_GOES)
        return bulk == BULK_ASIDE ? reentry_messages(fd, messages, count, flags) : -1;
    int sent = raw ? (int)REAL(syscall)(SYS_sendmmsg, fd, messages, count, flags)
                   : REAL(sendmmsg)(fd, messages, count, flags);
    ssize_t moved = sent < 0 ? -1 : 0;
    for (int i = 0; i < sent; i++) {
        if (!acted)
            shim_descriptors_left(&messages[i].msg_hdr);
        if (call.conn)
            moved += messages[i].msg_len;
    }
    shim_bulk_ended(call, fd, sent > 0 ? (unsigned)sent : 1, moved, (flags & MSG_MORE) != 0, caller);
    return sent;
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    return unstall_sendmmsg(fd, messages, count, flags, false, CALLER);
}
ALSO(__sendmmsg, sendmmsg)
#ifdef WITH_TIME64
ALSO(__sendmmsg64, sendmmsg)
#endif

/* In libc sendfile is no cancellation point either.  `behind` moves the bytes where the call stands behind
 * buffered ones. */
#define SENDS_FILE(function, type, next, behind)                                               \
    ssize_t function(int fd, int from, type *offset, size_t bytes, uintptr_t caller) {         \
        struct call call;                                                                      \
        if (reentry_stands_behind(fd))                                                         \
            return behind(fd, from, offset, bytes);                                            \
        enum bulk bulk = shim_bulk_begins(fd, 0, true, &call);                                 \
        if (bulk != BULK_GOES)                                                                 \
            return bulk == BULK_ASIDE ? behind(fd, from, offset, bytes) : -1;                  \
        ssize_t moved = REAL(next)(fd, from, offset, bytes);                                   \
        shim_bulk_ended(call, fd, 1, moved, false, caller);                                    \
        return moved;                                                                          \
    }

#ifdef WITH_TIME64
SENDS_FILE(unstall_sendfile, off64_t, sendfile64, reentry_move)

EXPORT ssize_t sendfile64(int fd, int from, off64_t *offset, size_t bytes) {
    return unstall_sendfile(fd, from, offset, bytes, CALLER);
}

static ssize_t move_narrow(int fd, int from, off_t *offset, size_t bytes) {
    off64_t wide;
    if (!offset || !readable(offset, sizeof(*offset)))
        return reentry_move(fd, from, (off64_t *)offset, bytes); /* NULL, or EFAULT */
    wide = *offset;
    ssize_t moved = reentry_move(fd, from, &wide, bytes);
    *offset = (off_t)wide;
    return moved;
}

SENDS_FILE(unstall_sendfile_narrow, off_t, sendfile, move_narrow)

EXPORT ssize_t sendfile(int fd, int from, off_t *offset, size_t bytes) {
    return unstall_sendfile_narrow(fd, from, offset, bytes, CALLER);
}
#else
SENDS_FILE(unstall_sendfile, off64_t, sendfile, reentry_move)

EXPORT ssize_t sendfile(int fd, int from, off_t *offset, size_t bytes) {
    return unstall_sendfile(fd, from, offset, bytes, CALLER);
}
ALSO(sendfile64, sendfile)
#endif

ssize_t unstall_splice(int from, off64_t *from_offset, int fd, off64_t *offset, size_t bytes,
                       unsigned flags, bool raw, uintptr_t caller) {
    struct call call;
    if (reentry_stands_behind(fd) && !from_offset && !offset)
        return reentry_move(fd, from, NULL, bytes);
    if (!(flags & SPLICE_F_NONBLOCK))
        shim_read_begins(from, false);
    enum bulk bulk = shim_bulk_begins(fd, 0, raw, &call);
    if (bulk == BULK_ASIDE && !from_offset && !offset)
        return reentry_move(fd, from, NULL, bytes);
    if (bulk == BULK_FAILS)
        return -1;
    struct call source = shim_read_begins(from, true);
    ssize_t moved =
        raw ? REAL(syscall)(SYS_splice, from, from_offset, fd, offset, bytes, flags)
            : REAL(splice)(from, from_offset, fd, offset, bytes, flags);
    shim_bulk_ended(call, fd, 1, moved, (flags & SPLICE_F_MORE) != 0, caller);
    return shim_read_ends(source, moved, bytes);
}

EXPORT ssize_t splice(int from, off64_t *from_offset, int fd, off64_t *offset, size_t bytes,
                      unsigned flags) {
    return unstall_splice(from, from_offset, fd, offset, bytes, flags, false, CALLER);
}
