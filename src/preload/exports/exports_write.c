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

/* An exported function forwards the simple cases itself.  All other work is in functions that are not
 * inlined, so that only they save registers. */
#define NOINLINE static __attribute__((noinline))

INLINE ssize_t write_tracked(int fd, const void *buffer, size_t bytes, uintptr_t caller) {
    enum quiet quiet = shim_quiet(fd);
    if (quiet == QUIET)
        return shim_write_quiet(fd, buffer, bytes, caller);
    if (quiet & TAKES_WRITE)
        return shim_write_steady(fd, buffer, bytes, caller);
    return shim_write_fast(fd, buffer, bytes, 0, FORM_WRITE, caller);
}

NOINLINE ssize_t high_write(int fd, const void *buffer, size_t bytes, uintptr_t caller) {
    if (shim_passes(fd))
        return REAL(write)(fd, buffer, bytes);
    return write_tracked(fd, buffer, bytes, caller);
}

EXPORT ssize_t write(int fd, const void *buffer, size_t bytes) {
    if (UNLIKELY(!fds_is_low(fd)))
        return high_write(fd, buffer, bytes, CALLER);
    if (shim_passes(fd) && LIKELY(REAL_FOUND(write) != NULL))
        return REAL_FOUND(write)(fd, buffer, bytes);
    return write_tracked(fd, buffer, bytes, CALLER);
}
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

INLINE ssize_t send_tracked(int fd, const void *buffer, size_t bytes, int flags, uintptr_t caller) {
    enum quiet quiet = shim_quiet(fd);
    if (quiet == QUIET)
        return shim_send_quiet(fd, buffer, bytes, flags, caller);
    if (quiet & TAKES_WRITE)
        return shim_send_steady(fd, buffer, bytes, flags, caller);
    return shim_write_fast(fd, buffer, bytes, flags, FORM_SEND, caller);
}

NOINLINE ssize_t high_send(int fd, const void *buffer, size_t bytes, int flags, uintptr_t caller) {
    if (shim_passes(fd))
        return REAL(send)(fd, buffer, bytes, flags);
    return send_tracked(fd, buffer, bytes, flags, caller);
}

EXPORT ssize_t send(int fd, const void *buffer, size_t bytes, int flags) {
    if (UNLIKELY(!fds_is_low(fd)))
        return high_send(fd, buffer, bytes, flags, CALLER);
    if (shim_passes(fd) && LIKELY(REAL_FOUND(send) != NULL))
        return REAL_FOUND(send)(fd, buffer, bytes, flags);
    return send_tracked(fd, buffer, bytes, flags, CALLER);
}
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
    if (reentry_stands_behind(fd))
        return reentry_write(&(struct write_request){
            .fd = fd, .form = FORM_PWRITEV2, .raw = raw, .iov = iov, .iov_count = count});
    if (!shim_bulk_begins(fd, flags & RWF_NOWAIT ? MSG_DONTWAIT : 0, raw, &call))
        return -1;
    ssize_t sent = raw ? REAL(syscall)(SYS_pwritev2, fd, iov, count, -1L, -1L, flags)
                       : REAL(pwritev2)(fd, iov, count, -1, flags);
    shim_bulk_ended(call, fd, 1, sent, false, caller);
    return sent;
}

EXPORT ssize_t pwritev2(int fd, const struct iovec *iov, int count, off_t offset, int flags) {
    if (offset == -1 && !flags)
        return shim_write(OUT(.form = FORM_PWRITEV2, .iov = iov, .iov_count = count));
    if (offset == -1)
        return unstall_pwritev2_flags(fd, iov, count, flags, false, CALLER);
    shim_other_write(fd);
    return REAL(pwritev2)(fd, iov, count, offset, flags);
}
#ifdef WITH_TIME64
EXPORT ssize_t pwritev64v2(int fd, const struct iovec *iov, int count, off64_t offset, int flags) {
    if (offset == -1 && !flags)
        return shim_write(OUT(.form = FORM_PWRITEV2, .iov = iov, .iov_count = count));
    if (offset == -1)
        return unstall_pwritev2_flags(fd, iov, count, flags, false, CALLER);
    shim_other_write(fd);
    return REAL(pwritev64v2)(fd, iov, count, offset, flags);
}
#else
ALSO(pwritev64v2, pwritev2)
#endif

EXPORT int eventfd_write(int fd, eventfd_t value) {
    shim_other_write(fd);
    return REAL(eventfd_write)(fd, value);
}

/* ---- calls that can be neither held nor buffered ------------------------ */

int unstall_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, bool raw,
                     uintptr_t caller) {
    struct call call;
    if (reentry_stands_behind(fd))
        return reentry_messages(fd, messages, count, flags);
    bool acted = LOAD(&hold_acted);
    for (unsigned i = 0; acted && i < count && i < IOV_MAX; i++)
        shim_descriptors_leave(&messages[i].msg_hdr);
    if (!shim_bulk_begins(fd, flags, raw, &call))
        return -1;
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

/* In libc sendfile is no cancellation point either. */
ssize_t unstall_sendfile(int fd, int from, off64_t *offset, size_t bytes, uintptr_t caller) {
    struct call call;
    if (reentry_stands_behind(fd))
        return reentry_move(fd, from, offset, bytes);
    if (!shim_bulk_begins(fd, 0, true, &call))
        return -1;
    ssize_t moved = sizeof(off_t) == sizeof(off64_t)
                        ? REAL(sendfile)(fd, from, (off_t *)offset, bytes)
                        : REAL(sendfile64)(fd, from, offset, bytes);
    shim_bulk_ended(call, fd, 1, moved, false, caller);
    return moved;
}

#ifdef WITH_TIME64
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

ssize_t unstall_sendfile_narrow(int fd, int from, off_t *offset, size_t bytes, uintptr_t caller) {
    struct call call;
    if (reentry_stands_behind(fd))
        return move_narrow(fd, from, offset, bytes);
    if (!shim_bulk_begins(fd, 0, true, &call))
        return -1;
    ssize_t moved = REAL(sendfile)(fd, from, offset, bytes);
    shim_bulk_ended(call, fd, 1, moved, false, caller);
    return moved;
}

EXPORT ssize_t sendfile(int fd, int from, off_t *offset, size_t bytes) {
    return unstall_sendfile_narrow(fd, from, offset, bytes, CALLER);
}
#else
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
    if (!shim_bulk_begins(fd, 0, raw, &call))
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
