/* SPDX-License-Identifier: MIT
 *
 * The calls that write.  They forward only: the road is write.c (docs/design.md, "The road of a write").
 *
 * A write to what is known to be no TCP stream, in a thread without an open turn, needs nothing.  It goes to
 * the next definition by a jump, if that is known: a look-up would need a frame.
 */

#include "exports.h"

#define CALLER   ((uintptr_t)__builtin_return_address(0)) /* the place in the program that called */
#define OUT(...) &(struct write_request){.fd = fd, .caller = CALLER, __VA_ARGS__}

/* True, in a thread without an open turn (only there): the descriptor is known to be no TCP stream, and there
 * is nothing to do, whatever gate_enter() returns. */
static inline bool passes(uintptr_t word) {
    return word - 1 < FDS_LAST_TAG;
}

/* True: a write is only counted: mode off. */
static inline bool only_counts(uintptr_t word, int flags) {
    const struct conn *c = fds_conn(word);
    return c && UNLIKELY(shim_only_counts(c)) && gate_is_open() && !(flags & MSG_FASTOPEN);
}

/* The beginning of write, send and sendto: a thread without an open turn jumps on, or in mode off only
 * counts.  The order of the arguments costs that no move. */
#define JUMPS_ON(next, form, flags, ...)                                               \
    if (LIKELY(self.turn == NULL)) {                                                   \
        uintptr_t word = fds_word(fd);                                                 \
        if (passes(word) && LIKELY(REAL_FOUND(next) != NULL))                          \
            return REAL_FOUND(next)(__VA_ARGS__);                                      \
        if (only_counts(word, flags))                                                  \
            return shim_one_in_off(fd, buffer, bytes, flags, form, (struct conn *)word); \
    }

EXPORT ssize_t write(int fd, const void *buffer, size_t bytes) {
    JUMPS_ON(write, FORM_WRITE, 0, fd, buffer, bytes)
    return shim_write_fast(fd, buffer, bytes, 0, FORM_WRITE, CALLER);
}
ALSO(__write, write)

EXPORT ssize_t writev(int fd, const struct iovec *iov, int count) {
    if (LIKELY(self.turn == NULL) && passes(fds_word(fd)) && LIKELY(REAL_FOUND(writev) != NULL))
        return REAL_FOUND(writev)(fd, iov, count);
    return shim_write(OUT(.form = FORM_WRITEV, .iov = iov, .iov_count = count));
}

EXPORT ssize_t send(int fd, const void *buffer, size_t bytes, int flags) {
    JUMPS_ON(send, FORM_SEND, flags, fd, buffer, bytes, flags)
    return shim_write_fast(fd, buffer, bytes, flags, FORM_SEND, CALLER);
}
ALSO(__send, send)

EXPORT ssize_t sendto(int fd, const void *buffer, size_t bytes, int flags,
                      const struct sockaddr *address, socklen_t length) {
    if (LIKELY(!address && !length)) {
        JUMPS_ON(sendto, FORM_SENDTO, flags, fd, buffer, bytes, flags, NULL, 0)
        return shim_write_fast(fd, buffer, bytes, flags, FORM_SENDTO, CALLER);
    }
    return shim_write(OUT(.form = FORM_SENDTO, .buffer = buffer, .bytes = bytes, .flags = flags,
                          .address = address, .address_length = length));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    return shim_write_message(OUT(.form = FORM_SENDMSG, .message = message, .flags = flags));
}
#ifdef WITH_TIME64
ALSO(__sendmsg64, sendmsg)
#endif

EXPORT int eventfd_write(int fd, eventfd_t value) {
    return shim_write_fast(fd, &value, sizeof(value), 0, FORM_WRITE, CALLER) == sizeof(value) ? 0 : -1;
}

/* ---- calls that can be neither held nor buffered ------------------------ */

static enum bulk bulk_begins(int fd, int flags, bool raw, struct call *call) {
    return aside_stands_behind(fd) ? BULK_ASIDE : shim_bulk_begins(fd, flags, raw, call);
}

/* At offset -1 it is a writev.  With flags (RWF_NOWAIT) it is neither held nor buffered, but it stays behind
 * buffered bytes. */
ssize_t unstall_pwritev2(int fd, const struct iovec *iov, int count, int flags, bool raw, uintptr_t caller) {
    struct call call;
    const struct write_request plain = {.fd = fd, .form = FORM_PWRITEV2, .raw = raw, .caller = caller,
                                        .iov = iov, .iov_count = count};
    if (!flags)
        return shim_write(&plain);
    enum bulk bulk = bulk_begins(fd, flags & RWF_NOWAIT ? MSG_DONTWAIT : 0, raw, &call);
    if (bulk != BULK_GOES)
        return bulk == BULK_ASIDE ? aside_write(&plain) : -1;
    ssize_t sent = raw ? REAL(syscall)(SYS_pwritev2, fd, iov, count, -1L, -1L, flags)
                       : REAL(pwritev2)(fd, iov, count, -1, flags);
    shim_bulk_ended(call, fd, 1, sent, false, caller);
    return sent;
}

#define WRITE_AT(name)                                                     \
    {                                                                      \
        if (offset == -1)                                                  \
            return unstall_pwritev2(fd, iov, count, flags, false, CALLER); \
        shim_other_write(fd);                                              \
        return REAL(name)(fd, iov, count, offset, flags);                  \
    }

EXPORT ssize_t pwritev2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
    WRITE_AT(pwritev2)
#ifdef WITH_TIME64
EXPORT ssize_t pwritev64v2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
    WRITE_AT(pwritev64v2)
#else
ALSO(pwritev64v2, pwritev2)
#endif

int unstall_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, bool raw,
                     uintptr_t caller) {
    struct call call;
    if (aside_stands_behind(fd))
        return aside_messages(fd, messages, count, flags);
    bool acted = LOAD(&hold_acted);
    if (acted)
        shim_messages_pass(messages, count);
    enum bulk bulk = shim_bulk_begins(fd, flags, raw, &call);
    if (bulk != BULK_GOES)
        return bulk == BULK_ASIDE ? aside_messages(fd, messages, count, flags) : -1;
    int sent = raw ? (int)REAL(syscall)(SYS_sendmmsg, fd, messages, count, flags)
                   : REAL(sendmmsg)(fd, messages, count, flags);
    ssize_t moved = sent < 0 ? -1 : 0;
    for (int i = 0; i < sent; i++) {
        if (!acted)
            shim_descriptors_passed(&messages[i].msg_hdr);
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

/* The body of a sendfile by `next`, which in libc is no cancellation point either.  Where it stands behind
 * buffered bytes, `move` moves the bytes. */
#define SEND_FILE(next, move)                                               \
    {                                                                       \
        struct call call;                                                   \
        enum bulk bulk = bulk_begins(fd, 0, true, &call);                   \
        if (bulk != BULK_GOES)                                              \
            return bulk == BULK_ASIDE ? move(fd, from, offset, bytes) : -1; \
        ssize_t moved = REAL(next)(fd, from, offset, bytes);                \
        shim_bulk_ended(call, fd, 1, moved, false, caller);                 \
        return moved;                                                       \
    }

#ifdef WITH_TIME64
static ssize_t move_narrow(int fd, int from, off_t *offset, size_t bytes) {
    off64_t wide;
    if (!offset || !readable(offset, sizeof(*offset)))
        return aside_move(fd, from, (off64_t *)offset, bytes); /* NULL, or EFAULT */
    wide = *offset;
    ssize_t moved = aside_move(fd, from, &wide, bytes);
    *offset = (off_t)wide;
    return moved;
}

ssize_t unstall_sendfile(int fd, int from, off64_t *offset, size_t bytes, uintptr_t caller)
    SEND_FILE(sendfile64, aside_move)
ssize_t unstall_sendfile_narrow(int fd, int from, off_t *offset, size_t bytes, uintptr_t caller)
    SEND_FILE(sendfile, move_narrow)

EXPORT ssize_t sendfile64(int fd, int from, off64_t *offset, size_t bytes) {
    return unstall_sendfile(fd, from, offset, bytes, CALLER);
}
#else
ssize_t unstall_sendfile(int fd, int from, off64_t *offset, size_t bytes, uintptr_t caller)
    SEND_FILE(sendfile, aside_move)
#define unstall_sendfile_narrow unstall_sendfile
ALSO(sendfile64, sendfile)
#endif

EXPORT ssize_t sendfile(int fd, int from, off_t *offset, size_t bytes) {
    return unstall_sendfile_narrow(fd, from, offset, bytes, CALLER);
}

ssize_t unstall_splice(int from, off64_t *from_offset, int fd, off64_t *offset, size_t bytes,
                       unsigned flags, bool raw, uintptr_t caller) {
    struct call call;
    if (aside_stands_behind(fd) && !offset)
        return aside_move(fd, from, from_offset, bytes);
    if (!(flags & SPLICE_F_NONBLOCK))
        shim_read_begins(from, false);
    enum bulk bulk = shim_bulk_begins(fd, 0, raw, &call);
    if (bulk == BULK_ASIDE && !offset)
        return aside_move(fd, from, from_offset, bytes);
    if (bulk == BULK_FAILS)
        return -1;
    struct call source = shim_read_begins(from, true);
    ssize_t moved = raw ? REAL(syscall)(SYS_splice, from, from_offset, fd, offset, bytes, flags)
                        : REAL(splice)(from, from_offset, fd, offset, bytes, flags);
    shim_bulk_ended(call, fd, 1, moved, (flags & SPLICE_F_MORE) != 0, caller);
    return shim_read_ends(source, moved, bytes);
}

EXPORT ssize_t splice(int from, off64_t *from_offset, int fd, off64_t *offset, size_t bytes,
                      unsigned flags) {
    return unstall_splice(from, from_offset, fd, offset, bytes, flags, false, CALLER);
}
