/* SPDX-License-Identifier: MIT
 *
 * The ways to write a piece: each makes one call (splice: two).
 */
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "torture.h"

enum { PARTS = 16, PIPE_BYTES = 60000 };

/* Cut a piece into parts; some are empty. */
static int cut(struct actor *a, const struct piece *piece, struct iovec *parts) {
    int count = 1 + (int)below(a, PARTS);
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        size_t left = piece->length - at;
        size_t length = i == count - 1 ? left : below(a, (uint32_t)(left < 2000 ? left + 1 : 2000));
        parts[i] = (struct iovec){(void *)(uintptr_t)(piece->bytes + at), length};
        at += length;
    }
    return count;
}

static ssize_t by_write(struct actor *a, int fd, const struct piece *piece) {
    (void)a;
    return write(fd, piece->bytes, piece->length);
}

static ssize_t by_syscall(struct actor *a, int fd, const struct piece *piece) {
    (void)a;
    return syscall(SYS_write, fd, piece->bytes, piece->length);
}

static ssize_t by_send(struct actor *a, int fd, const struct piece *piece) {
    (void)a;
    return send(fd, piece->bytes, piece->length, piece->flags);
}

static ssize_t by_sendto(struct actor *a, int fd, const struct piece *piece) {
    (void)a;
    return sendto(fd, piece->bytes, piece->length, piece->flags, NULL, 0);
}

static ssize_t by_writev(struct actor *a, int fd, const struct piece *piece) {
    struct iovec parts[PARTS];
    int count = cut(a, piece, parts);
    return writev(fd, parts, count);
}

static ssize_t by_pwritev2(struct actor *a, int fd, const struct piece *piece) {
    struct iovec parts[PARTS];
    int count = cut(a, piece, parts);
    return pwritev2(fd, parts, count, -1, 0);
}

static ssize_t by_sendmsg(struct actor *a, int fd, const struct piece *piece) {
    struct iovec parts[PARTS];
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)cut(a, piece, parts)};
    return sendmsg(fd, &message, piece->flags);
}

static ssize_t by_sendmmsg(struct actor *a, int fd, const struct piece *piece) {
    struct iovec parts[PARTS];
    struct mmsghdr messages[3] = {0};
    int count = cut(a, piece, parts), used = 0;
    unsigned filled = 0;
    for (; filled < 3 && used < count; filled++) {
        int now = filled == 2 ? count - used : 1 + (int)below(a, (uint32_t)(count - used));
        messages[filled].msg_hdr.msg_iov = parts + used;
        messages[filled].msg_hdr.msg_iovlen = (size_t)now;
        used += now;
    }
    int sent = sendmmsg(fd, messages, filled, piece->flags);
    if (sent < 0)
        return -1;
    ssize_t bytes = 0;
    for (int i = 0; i < sent; i++) {
        size_t whole = 0;
        for (size_t part = 0; part < messages[i].msg_hdr.msg_iovlen; part++)
            whole += messages[i].msg_hdr.msg_iov[part].iov_len;
        bytes += messages[i].msg_len;
        if (messages[i].msg_len < whole && i + 1 < sent)
            violation(a, NULL, "sendmmsg went on after a short message");
    }
    return bytes;
}

static ssize_t by_sendfile(struct actor *a, int fd, const struct piece *piece) {
    off_t at = (off_t)piece->place;
    ssize_t n = sendfile(fd, streams_file, &at, piece->length);
    if (n >= 0 && at != (off_t)piece->place + n)
        violation(a, NULL, "sendfile returned %zd and moved the offset to %lld", n, (long long)at);
    return n;
}

static ssize_t by_splice(struct actor *a, int fd, const struct piece *piece) {
    char rest[4096];
    size_t length = piece->length < PIPE_BYTES ? piece->length : PIPE_BYTES;
    ssize_t in;
    do
        in = write(a->pipe[1], piece->bytes, length);
    while (in < 0 && errno == EINTR);
    if (in != (ssize_t)length)
        violation(a, NULL, "a write to a pipe returned %zd: %s", in, strerror(errno));
    ssize_t n = splice(a->pipe[0], NULL, fd, NULL, length,
                       piece->flags & MSG_MORE ? SPLICE_F_MORE : 0);
    int error = errno;
    for (size_t left = length - (n > 0 ? (size_t)n : 0); left > 0;) {
        ssize_t out = read(a->pipe[0], rest, left < sizeof(rest) ? left : sizeof(rest));
        if (out < 0 && errno == EINTR)
            continue;
        if (out <= 0)
            violation(a, NULL, "a pipe gave back %zd, %zu bytes should be in it", out, left);
        left -= (size_t)out;
    }
    errno = error;
    return n;
}

/* Forms that take flags come first. */
put_form *const put_forms[] = {
    by_send,     by_sendto,   by_sendmsg, by_sendmmsg, /* take flags */
    by_write,    by_write,    by_writev,  by_pwritev2, by_syscall,
    by_sendfile, by_splice,
};
const unsigned put_form_count = sizeof(put_forms) / sizeof(put_forms[0]);
