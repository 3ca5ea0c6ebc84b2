/* SPDX-License-Identifier: MIT */
#include "net.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "real.h"

enum { ROOM = 20000, MSS = 1460 };

struct net net;

/* ---- sockets --------------------------------------------------------- */

struct net_socket *net_of(int fd) {
    return fd >= 0 && fd < DESCRIPTORS ? net.leads[fd] : NULL;
}

void net_open(int index, int fd) {
    static uint64_t cookies;
    struct net_socket *s = &net.sockets[index];
    assert(s->descriptors == 0 && !net_of(fd));
    *s = (struct net_socket){.room = ROOM, .descriptors = 1, .cookie = ++cookies};
    net.leads[fd] = s;
}

void net_dup(int fd, int copy) {
    net.leads[copy] = net.leads[fd];
    net.leads[copy]->descriptors++;
}

void net_close(int fd) {
    struct net_socket *s = net_of(fd);
    if (!s)
        return;
    net.leads[fd] = NULL;
    if (--s->descriptors == 0)
        s->withheld = 0; /* TCP flushes at close */
}

void net_peer_reads(void) {
    for (int i = 0; i < SOCKETS; i++)
        net.sockets[i].room = ROOM;
}

static char byte_at(const struct net_socket *s, uint64_t position) {
    uint64_t x = (position + s->cookie * 1000003) * UINT64_C(0x9E3779B97F4A7C15);
    return (char)(x >> 56);
}

void net_fill(const struct net_socket *s, uint64_t position, char *to, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = byte_at(s, position + i);
}

/* ---- sending --------------------------------------------------------- */

static void take(struct net_socket *s, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        assert(bytes[i] == byte_at(s, s->taken + i) && "out of place on the wire");
    s->taken += n;
    s->room -= n;
}

static ssize_t refuse(int error) {
    errno = error;
    return -1;
}

static ssize_t deliver(int fd, const struct iovec *iov, size_t count, int flags) {
    struct net_socket *s = net_of(fd);
    ssize_t sent = 0;
    assert(s && "a send to a descriptor that is closed, or no socket");
    if (net.meanwhile) {
        void (*handler)(void) = net.meanwhile;
        net.meanwhile = NULL;
        handler();
    }
    if (s->dead) {
        int error = s->dead;
        s->dead = EPIPE;
        for (size_t i = 0; i < count; i++)
            s->told |= iov[i].iov_len > 0;
        return refuse(error);
    }
    bool waits = !(flags & MSG_DONTWAIT) && !s->non_blocking;
    for (size_t i = 0; i < count; i++) {
        const char *from = iov[i].iov_base;
        for (size_t left = iov[i].iov_len; left;) {
            if (s->room == 0 && !waits) {
                /* a short send, too, asks for the event of room (SOCK_NOSPACE) */
                s->sndbuf_maybe_full = net.refused = true;
                goto full;
            }
            if (s->room == 0)
                s->room = ROOM; /* blocked until the peer has read */
            size_t n = left < s->room ? left : s->room;
            take(s, from, n);
            from += n;
            left -= n;
            sent += (ssize_t)n;
        }
    }
full:
    if (sent == 0 && s->room == 0 && net.refused)
        return refuse(EAGAIN);
    s->withheld = (flags & MSG_MORE) || s->cork ? (s->withheld + (size_t)sent) % MSS : 0;
    return sent;
}

/* ---- the kernel of the core's own calls ------------------------------- */

static ssize_t own_send(int fd, const struct msghdr *message, int flags) {
    assert(flags & MSG_DONTWAIT && "a send of our own that could block");
    if (net.passing) {
        int error = net.passing;
        net.passing = 0;
        net.excused = net.refused = true;
        return -error;
    }
    ssize_t sent = deliver(fd, message->msg_iov, message->msg_iovlen, flags);
    return sent < 0 ? -errno : sent;
}

static int set_option(int fd, int level, int name, int value) {
    struct net_socket *s = net_of(fd);
    if (!s)
        return fd == FILE_FD || fd == PIPE_FD ? -ENOTSOCK : -EBADF;
    if (level == SOL_SOCKET && name == SO_SNDBUF) /* before the last close; here it does not help */
        return value > ROOM ? 0 : -EINVAL;
    assert(level == IPPROTO_TCP && name == TCP_NODELAY && "an option that is not ours to set");
    s->nodelay = value != 0;
    if (value)
        s->withheld = 0; /* pushes, even while TCP_CORK is set (docs/kernel.md) */
    return 0;
}

static int get_option(int fd, int level, int name, int *value) {
    struct net_socket *s = net_of(fd);
    if (!s && fd != UNIX_FD)
        return fd == FILE_FD || fd == PIPE_FD ? -ENOTSOCK : -EBADF;
    if (level == SOL_SOCKET && name == SO_PROTOCOL)
        *value = s ? IPPROTO_TCP : 0;
    else if (level == SOL_SOCKET && name == SO_TYPE)
        *value = SOCK_STREAM;
    else if (!s)
        return -EOPNOTSUPP;
    else if (level == SOL_SOCKET && name == SO_SNDBUF)
        *value = ROOM;
    else if (level == IPPROTO_TCP && name == TCP_MAXSEG)
        *value = MSS;
    else if (level == IPPROTO_TCP && name == TCP_NODELAY)
        *value = s->nodelay;
    else if (level == IPPROTO_TCP && name == TCP_CORK)
        *value = s->cork;
    else
        return -ENOPROTOOPT;
    return 0;
}

static int cookie(int fd, uint64_t *value) {
    struct net_socket *s = net_of(fd);
    *value = s ? s->cookie : 0;
    return s ? 0 : -EBADF;
}

static int tcp_info(int fd, struct kernel_tcp_info *out) {
    struct net_socket *s = net_of(fd);
    if (!s)
        return -EBADF;
    *out = (struct kernel_tcp_info){
        .bytes_sent = s->taken - s->withheld, .bytes_queued = s->withheld, .bytes_received = s->received};
    return 0;
}

static int descriptor_flags(int fd) {
    struct net_socket *s = net_of(fd);
    if (!s && (fd < FILE_FD || fd > UNIX_FD))
        return -EBADF;
    return s && s->cloexec ? FD_CLOEXEC : 0;
}

static int status_flags(int fd) {
    struct net_socket *s = net_of(fd);
    return s && s->non_blocking ? O_NONBLOCK : 0;
}

static int is_file(int fd) {
    return fd == FILE_FD;
}

static int no_name(int fd, bool peer, struct sockaddr_storage *address) {
    (void)fd, (void)peer, (void)address;
    return -ENOTCONN;
}

static int writable(int fd, int timeout) {
    struct net_socket *s = net_of(fd);
    if (s && s->room == 0 && timeout != 0)
        s->room = ROOM;
    return !s || s->room > 0 || s->dead;
}

/* No connection lingers. */
static int linger(int fd) {
    (void)fd;
    return -1;
}

static int end_linger(int fd) {
    (void)fd;
    return 0;
}

static int dup_above(int fd, int lowest) {
    for (int copy = lowest; copy < DESCRIPTORS && !net.no_descriptors; copy++)
        if (!net.leads[copy] && (copy < FILE_FD || copy > UNIX_FD)) {
            net_dup(fd, copy);
            return copy;
        }
    return -EMFILE;
}

static int close_own(int fd) {
    net_close(fd);
    return 0;
}

const struct kernel_ops kernel_real = {
    .set_option = set_option,
    .get_option = get_option,
    .cookie = cookie,
    .tcp_info = tcp_info,
    .send = own_send,
    .descriptor_flags = descriptor_flags,
    .status_flags = status_flags,
    .is_file = is_file,
    .name = no_name,
    .writable = writable,
    .dup_above = dup_above,
    .linger = linger,
    .end_linger = end_linger,
    .close = close_own,
};

const struct kernel_ops *kernel = &kernel_real;

/* ---- the calls that the core forwards --------------------------------- */

static ssize_t forwarded(int fd, const struct iovec *iov, size_t count, int flags) {
    if (net_of(fd))
        return deliver(fd, iov, count, flags);
    size_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += iov[i].iov_len;
    return (ssize_t)all;
}

ssize_t net_send(int fd, const void *buffer, size_t bytes, int flags) {
    return forwarded(fd, &(struct iovec){(void *)(uintptr_t)buffer, bytes}, 1, flags);
}

static ssize_t next_send(int fd, const void *buffer, size_t bytes, int flags) {
    return net_send(fd, buffer, bytes, flags);
}

/* glibc's own type of sendto(2): clang from 17 on calls a function by no other. */
static ssize_t next_sendto(int fd, const void *buffer, size_t bytes, int flags,
                           __CONST_SOCKADDR_ARG address, socklen_t length) {
    (void)address, (void)length;
    return next_send(fd, buffer, bytes, flags);
}

static ssize_t next_write(int fd, const void *buffer, size_t bytes) {
    return next_send(fd, buffer, bytes, 0);
}

static ssize_t next_writev(int fd, const struct iovec *iov, int count) {
    return forwarded(fd, iov, (size_t)count, 0);
}

static ssize_t next_pwritev2(int fd, const struct iovec *iov, int count, off_t offset, int flags) {
    (void)offset, (void)flags;
    return next_writev(fd, iov, count);
}

static ssize_t next_sendmsg(int fd, const struct msghdr *message, int flags) {
    return forwarded(fd, message->msg_iov, message->msg_iovlen, flags);
}

static int next_nanosleep(const struct timespec *request, struct timespec *left) {
    (void)request, (void)left;
    return 0;
}

/* Names that no path of this target forwards to. */
static void unexpected(void) {
    assert(!"a call that this target does not know");
}

#define ROW(name, need, family, role) void *real_##name = (void *)unexpected;
#include "surface.def"
#undef ROW

bool real_resolve(void) {
    return true;
}

void *real_find(void **slot, const char *name) {
    (void)name;
    return *slot;
}

#define NEXT(name) real_##name = (void *)(__typeof__(&name)){next_##name}

void net_start(void) {
    memset(&net, 0, sizeof(net));
    kernel = &kernel_real;
    NEXT(send);
    NEXT(sendto);
    NEXT(sendmsg);
    NEXT(write);
    NEXT(writev);
    NEXT(pwritev2);
    NEXT(nanosleep);
}
