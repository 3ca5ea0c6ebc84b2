/* SPDX-License-Identifier: MIT
 *
 * Clients that differ by their exchange alone, a function each.  harness.program() compiles the one that
 * -DPROGRAM names.
 */
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>

#include "client.h"

#ifndef PROGRAM
#define PROGRAM put_write
#endif
#pragma GCC diagnostic ignored "-Wunused-function"

/* ---- a message in two small writes, by each name that writes --------------- */

static bool whole(long result, size_t length) {
    return result == (long)length;
}

/* An exchange by PUT(fd, data, length), for header and body. */
#define TWO_PUTS(name, put)                                                                        \
    static void name(int fd)                                                                       \
    {                                                                                              \
        CHECK(put(fd, message, HEADER));                                                           \
        CHECK(put(fd, message + HEADER, BODY));                                                    \
        read_reply(fd);                                                                            \
    }

/* The same by CALL(fd, data, length, ...). */
#define TWO_CALLS(name, call, ...)                                                                 \
    static bool name##_puts(int fd, char *data, size_t length)                                     \
    {                                                                                              \
        return whole(call(fd, data, length, ##__VA_ARGS__), length);                               \
    }                                                                                              \
    TWO_PUTS(name, name##_puts)

/* The same by CALL(fd, pieces, 2, ...). */
#define TWO_VECTORS(name, call, ...)                                                               \
    static bool name##_puts(int fd, char *data, size_t length)                                     \
    {                                                                                              \
        struct iovec pieces[2] = {{data, 10}, {data + 10, length - 10}};                           \
        return whole(call(fd, pieces, 2, ##__VA_ARGS__), length);                                  \
    }                                                                                              \
    TWO_PUTS(name, name##_puts)

/* What old programs and libraries import. */
extern ssize_t __send(int fd, const void *data, size_t length, int flags);
extern ssize_t __write(int fd, const void *data, size_t length);

#define SYSCALL_WRITE(...)  syscall(SYS_write, __VA_ARGS__)
#define SYSCALL_SENDTO(...) syscall(SYS_sendto, __VA_ARGS__)
#define SYSCALL_WRITEV(...) syscall(SYS_writev, __VA_ARGS__)

TWO_CALLS(put_write, write)
TWO_CALLS(put_under_write, __write)
TWO_CALLS(put_syscall_write, SYSCALL_WRITE)
TWO_CALLS(put_send, send, 0)
TWO_CALLS(put_under_send, __send, 0)
TWO_CALLS(put_sendto, sendto, 0, NULL, 0)
TWO_CALLS(put_syscall_sendto, SYSCALL_SENDTO, 0, NULL, 0)
TWO_VECTORS(put_writev, writev)
TWO_VECTORS(put_syscall_writev, SYSCALL_WRITEV)
#ifdef __GLIBC__ /* offset -1: writev with flags; the second name is that of large file offsets */
TWO_VECTORS(put_pwritev2, pwritev2, -1, 0)
TWO_VECTORS(put_pwritev64v2, pwritev64v2, -1, 0)
#endif

static bool puts_message(int fd, char *data, size_t length) {
    struct iovec pieces[2] = {{data, 10}, {data + 10, length - 10}};
    return whole(sendmsg(fd, &(struct msghdr){.msg_iov = pieces, .msg_iovlen = 2}, 0), length);
}
TWO_PUTS(put_sendmsg, puts_message)

static bool puts_message_by_number(int fd, char *data, size_t length) {
    struct iovec piece = {data, length};
    return whole(syscall(SYS_sendmsg, fd, &(struct msghdr){.msg_iov = &piece, .msg_iovlen = 1}, 0), length);
}
TWO_PUTS(put_syscall_sendmsg, puts_message_by_number)

static bool puts_one_message(int fd, char *data, size_t length) {
    struct iovec piece = {data, length};
    struct mmsghdr one = {.msg_hdr = {.msg_iov = &piece, .msg_iovlen = 1}};
    return sendmmsg(fd, &one, 1, 0) == 1 && one.msg_len == length;
}
TWO_PUTS(put_sendmmsg, puts_one_message)

/* Two small writes in one call. */
static void put_both_sendmmsg(int fd) {
    struct iovec halves[2] = {{message, HEADER}, {message + HEADER, BODY}};
    struct mmsghdr headers[2] = {
        {.msg_hdr = {.msg_iov = &halves[0], .msg_iovlen = 1}},
        {.msg_hdr = {.msg_iov = &halves[1], .msg_iovlen = 1}},
    };
    CHECK(sendmmsg(fd, headers, 2, 0) == 2);
    CHECK(headers[0].msg_len == HEADER && headers[1].msg_len == BODY);
    read_reply(fd);
}

#ifdef SYS_socketcall /* the one call for sockets of 32-bit x86: SYS_SEND, SYS_SENDMSG and SYS_RECV */
#include <linux/net.h>

static long socket_call(int number, const unsigned long *arguments) {
    return syscall(SYS_socketcall, number, arguments);
}

static void put_syscall_socketcall(int fd) {
    const unsigned long file = (unsigned long)fd;
    struct iovec piece = {message + HEADER, BODY};
    struct msghdr body = {.msg_iov = &piece, .msg_iovlen = 1};
    char reply[REPLY];
    CHECK(socket_call(SYS_SEND, (unsigned long[]){file, (unsigned long)message, HEADER, 0}) == HEADER);
    CHECK(socket_call(SYS_SENDMSG, (unsigned long[]){file, (unsigned long)&body, 0}) == BODY);
    for (size_t got = 0; got < sizeof reply;) {
        unsigned long rest[] = {file, (unsigned long)(reply + got), sizeof reply - got, 0};
        long n = socket_call(SYS_RECV, rest);
        CHECK(n > 0);
        got += (size_t)n;
    }
}
#endif

/* ---- messages of other forms ----------------------------------------------- */

/* Fifteen writes of twenty bytes. */
static void many_small_writes(int fd) {
    for (int at = 0; at < HEADER + BODY; at += 20) CHECK(write(fd, message + at, 20) == 20);
    read_reply(fd);
}

/* Without the pattern, as one_write: one writev, with its vector in a mapping of its own. */
static void one_write_far_vector(int fd) {
    static struct iovec *far;
    if (!far) far = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *far = (struct iovec){message, sizeof message};
    CHECK(writev(fd, far, 1) == (ssize_t)sizeof message);
    read_reply(fd);
}

/* A habit of one write a turn, for the first half of the exchanges; then two writes a turn. */
static void single_then_two(int fd) {
    static int made;
    (made++ < facts.exchanges / 2 ? one_write : two_writes)(fd);
}

/* A body that is larger than loopback's MSS at first (32 741 B) and smaller than it soon after (65 483 B):
 * from then on it is one small segment, which Nagle keeps back behind the header. */
static void body_of_40000(int fd) {
    static char body[40000];
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, body, sizeof body) == (ssize_t)sizeof body);
    read_reply(fd);
}

static int memory_file(void) {
    static int file = -1;
    if (file < 0) CHECK((file = memfd_create("body", MFD_CLOEXEC)) >= 0);
    return file;
}

static int *pipe_ends(void) {
    static int ends[2];
    if (ends[0] == 0) CHECK(pipe(ends) == 0);
    return ends;
}

/* The body by sendfile(2), of which `most` is asked; by raw calls, so that none of ours is between. */
static void sends_file(int fd, size_t most) {
    off_t begin = 0;
    CHECK(raw_call(SYS_pwrite64, memory_file(), (long)(message + HEADER), BODY, 0, 0) == BODY);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(sendfile(fd, memory_file(), &begin, most) == BODY && begin == BODY);
    read_reply(fd);
}

static void body_sendfile(int fd) {
    sends_file(fd, BODY);
}

static void was_generous_sendfile(int fd) {
    sends_file(fd, 0x7ffff000);
}

/* The body spliced out of a pipe, likewise. */
static void splices(int fd, size_t most) {
    int *ends = pipe_ends();
    CHECK(raw_call(SYS_write, ends[1], (long)(message + HEADER), BODY, 0, 0) == BODY);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(splice(ends[0], NULL, fd, NULL, most, 0) == BODY);
    read_reply(fd);
}

static void body_splice(int fd) {
    splices(fd, BODY);
}

static void was_generous_splice(int fd) {
    splices(fd, 65536);
}

/* The header by stdio, below the library's sight. */
static void stdio_dprintf(int fd) {
    CHECK(dprintf(fd, "%.*s", HEADER, message) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

/* The body by stdio: held bytes must leave before. */
static void stdio_write_dprintf(int fd) {
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(dprintf(fd, "%.*s", BODY, message + HEADER) == BODY);
    read_reply(fd);
}

/* One message of two processes. */
static void child_writes_body(int fd) {
    CHECK(write(fd, message, HEADER) == HEADER);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(write(fd, message + HEADER, BODY) == BODY ? 0 : 1);
    CHECK(status_of(child) == 0);
    read_reply(fd);
}

/* Four exchanges, and then a stream of events, a header and a body each, 60 ms apart. */
static void events(int fd) {
    static int done;
    write_message(fd);
    if (done++ < 4)
        read_reply(fd);
    else
        usleep(60000);
}

/* 60 ms later a third piece by a raw system call. */
static void raw_third(int fd) {
    write_message(fd);
    usleep(60000);
    CHECK(raw_call(SYS_write, fd, (long)message, 50, 0, 0) == 50);
    read_reply(fd);
}

/* After each exchange clone3 by syscall(2) makes a child, which ends at once.  Its arguments lie on the stack
 * in one exchange, and in a mapping of their own in the next. */
static void far_clone(int fd) {
    static int number;
    static uint64_t *far;
    uint64_t near[8] = {[4] = SIGCHLD};
    if (!far) far = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    two_writes(fd);
    memcpy(far, near, sizeof near);
    long child = syscall(SYS_clone3, number++ % 2 ? far : near, sizeof near);
    if (child == 0) raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
    CHECK(child > 0);
    while (raw_call(SYS_wait4, child, 0, 0, 0, 0) != child) {}
}

/* The header to one descriptor of the connection, the body to another. */
static void header_to_dup(int fd) {
    static int copy;
    if (!copy) CHECK((copy = fcntl(fd, F_DUPFD_CLOEXEC, 100)) >= 100);
    CHECK(write(copy, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

/* Reads from one descriptor and writes to a copy of it, as git does. */
static void write_to_dup(int fd) {
    static int copy;
    if (!copy) CHECK((copy = dup(fd)) > 0);
    write_message(copy);
    read_reply(fd);
}

/* ---- something between header and body ------------------------------------- */

#define BETWEEN(name, ...)                                                                         \
    static void name(int fd)                                                                       \
    {                                                                                              \
        CHECK(write(fd, message, HEADER) == HEADER);                                               \
        __VA_ARGS__                                                                                \
        CHECK(write(fd, message + HEADER, BODY) == BODY);                                          \
        read_reply(fd);                                                                            \
    }

static int polled(int fd, short events, int timeout) {
    struct pollfd ready = {.fd = fd, .events = events};
    return poll(&ready, 1, timeout);
}

static int selected(int fd) {
    fd_set writable;
    FD_ZERO(&writable);
    FD_SET(fd, &writable);
    return select(fd + 1, NULL, &writable, NULL, NULL);
}

static int waited_by_epoll(int fd) {
    static int ring = -1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT};
    if (ring < 0) {
        CHECK((ring = epoll_create1(EPOLL_CLOEXEC)) >= 0);
        CHECK(epoll_ctl(ring, EPOLL_CTL_ADD, fd, &event) == 0);
    }
    return epoll_wait(ring, &event, 1, -1);
}

static bool through_pipe(void) {
    char byte = 0;
    return write(pipe_ends()[1], &byte, 1) == 1 && read(pipe_ends()[0], &byte, 1) == 1;
}

BETWEEN(between_poll, CHECK(polled(fd, POLLIN | POLLOUT, -1) == 1);) /* as Qt does */
BETWEEN(between_poll_writable, CHECK(polled(fd, POLLOUT, -1) == 1);)
BETWEEN(between_poll_zero, CHECK(polled(fd, POLLIN, 0) == 0);)
BETWEEN(between_select, CHECK(selected(fd) == 1);) /* as wget and HTTP::Tiny do */
BETWEEN(between_epoll, CHECK(waited_by_epoll(fd) == 1);) /* as brokers do */
BETWEEN(between_sleep, CHECK(usleep(500) == 0);)
BETWEEN(between_file_write, CHECK(write(memory_file(), "header sent\n", 12) == 12);) /* a log */
BETWEEN(between_pipe_write, CHECK(through_pipe());)

/* The body comes from a file. */
static void between_file_read(int fd) {
    char body[BODY];
    CHECK(pwrite(memory_file(), message + HEADER, BODY, 0) == BODY && lseek(memory_file(), 0, SEEK_SET) == 0);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(read(memory_file(), body, BODY) == BODY);
    CHECK(write(fd, body, BODY) == BODY);
    read_reply(fd);
}

/* ---- the application's own choice ------------------------------------------ */

static void app_nodelay(int fd) {
    static bool set;
    if (!set) set_option(fd, TCP_NODELAY, 1);
    set = true;
    two_writes(fd);
}

/* Each message is corked. */
static void app_cork(int fd) {
    set_option(fd, TCP_CORK, 1);
    write_message(fd);
    set_option(fd, TCP_CORK, 0);
    read_reply(fd);
}

/* A small write, then a corked unit as the second of the message: TCP_CORK=0 does not push while bytes are
 * unacknowledged, Nagle holds the unit back. */
static void app_cork_second(int fd) {
    CHECK(write(fd, message, 50) == 50);
    set_option(fd, TCP_CORK, 1);
    CHECK(write(fd, message + 50, HEADER - 50) == HEADER - 50);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    set_option(fd, TCP_CORK, 0);
    read_reply(fd);
}

/* The header has MSG_MORE, the body is sent plainly. */
static void app_more(int fd) {
    CHECK(send(fd, message, HEADER, MSG_MORE) == HEADER);
    CHECK(send(fd, message + HEADER, BODY, 0) == BODY);
    read_reply(fd);
}

/* ... behind a small write, so that Nagle holds that unit back. */
static void app_more_second(int fd) {
    CHECK(write(fd, message, 50) == 50);
    CHECK(send(fd, message + 50, HEADER - 50, MSG_MORE) == HEADER - 50);
    CHECK(send(fd, message + HEADER, BODY, 0) == BODY);
    read_reply(fd);
}

/* As tornado does. */
static void app_nodelay_toggled(int fd) {
    two_writes(fd);
    set_option(fd, TCP_NODELAY, 1);
    set_option(fd, TCP_NODELAY, 0);
}

/* As Erlang and Mono do by default. */
static void app_nodelay_zero(int fd) {
    set_option(fd, TCP_NODELAY, 0);
    two_writes(fd);
}

BETWEEN(app_nodelay_zero_between, set_option(fd, TCP_NODELAY, 0);)

/* ---- defects that once were ------------------------------------------------- */

/* The header by a plain write, the body in two halves, of which the first has MSG_MORE. */
static void was_more_within(int fd) {
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(send(fd, message + HEADER, BODY / 2, MSG_MORE) == BODY / 2);
    CHECK(write(fd, message + HEADER + BODY / 2, BODY / 2) == BODY / 2);
    read_reply(fd);
}

/* setuid to the own user: libc makes the call in every thread, by a signal. */
static void was_setuid(int fd) {
    two_writes(fd);
    CHECK(setuid(getuid()) == 0);
}

/* The answer by a read that is not seen. */
static void was_unseen_reads(int fd) {
    char reply[REPLY];
    write_message(fd);
    for (long got = 0, n; got < REPLY; got += n) {
        n = raw_call(SYS_read, fd, (long)reply, REPLY - got, 0, 0);
        CHECK(n > 0);
    }
}

/* An exec that fails. */
static void pass_on_failed_exec(int fd) {
    char *const none[] = {NULL};
    CHECK(execve("/does/not/exist", none, none) == -1 && errno == ENOENT);
    two_writes(fd);
}

/* After each exchange a datagram on another socket, with ancillary data that is no descriptor. */
static void was_datagrams(int fd) {
    static int ends[2];
    int service = 0;
    char control[CMSG_SPACE(sizeof service)] = {0};
    struct iovec piece = {message, 10};
    struct msghdr datagram = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&datagram);
    header->cmsg_level = IPPROTO_IP;
    header->cmsg_type = IP_TOS;
    header->cmsg_len = CMSG_LEN(sizeof service);
    memcpy(CMSG_DATA(header), &service, sizeof service);
    if (!ends[0]) udp_pair(ends);
    two_writes(fd);
    CHECK(sendmsg(ends[0], &datagram, 0) == 10);
}

int main(int argc, char **argv) {
    return client_main(argc, argv, PROGRAM);
}
