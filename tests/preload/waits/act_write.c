/* SPDX-License-Identifier: MIT
 *
 * Writes to another descriptor that has no room, and further writes to the
 * connection that holds.
 */
#include "acts.h"

#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

extern ssize_t other_write(int, const void *, size_t) SYMBOL("__write");
extern ssize_t other_send(int, const void *, size_t, int) SYMBOL("__send");
extern int other_sendmmsg(int, struct mmsghdr *, unsigned, int) SYMBOL("__sendmmsg");
extern ssize_t plain_sendfile(int, int, off_t *, size_t) SYMBOL("sendfile");
extern ssize_t wide_sendfile(int, int, off64_t *, size_t) SYMBOL("sendfile64");

static char more[] = "and more";
enum { MORE = sizeof more - 1 };
static struct iovec vector = {more, MORE};
static struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
static struct mmsghdr headers[1];
static int full, file, source;

static void no_room(void) {
    int ends[2];
    full_pipe(ends);
    full = ends[1];
    file = scratch_file();
}

static void no_room_in_socket(void) {
    int ends[2];
    full_pair(ends);
    full = ends[1];
    headers[0].msg_hdr = header;
}

static void no_room_for_splice(void) {
    int ends[2];
    no_room();
    if (pipe(ends) < 0 || write(ends[1], more, MORE) != MORE)
        fail("pipe");
    source = ends[0];
}

static void no_room_in_eventfd(void) {
    full = eventfd(0, 0);
    if (full < 0 || eventfd_write(full, UINT64_C(0xfffffffffffffffe)) < 0)
        fail("eventfd");
}

ACT(write, no_room, ALARM, write(full, more, MORE))
ACT(__write, no_room, ALARM, other_write(full, more, MORE))
ACT(writev, no_room, ALARM, writev(full, &vector, 1))
ACT(send, no_room_in_socket, ALARM, send(full, more, MORE, 0))
ACT(__send, no_room_in_socket, ALARM, other_send(full, more, MORE, 0))
ACT(sendto, no_room_in_socket, ALARM, sendto(full, more, MORE, 0, NULL, 0))
ACT(sendmsg, no_room_in_socket, ALARM, sendmsg(full, &header, 0))
ACT(sendmmsg, no_room_in_socket, ALARM, sendmmsg(full, headers, 1, 0))
ACT(__sendmmsg, no_room_in_socket, ALARM, other_sendmmsg(full, headers, 1, 0))
ACT(sendfile, no_room, ALARM, plain_sendfile(full, file, NULL, 16))
ACT(sendfile64, no_room, ALARM, wide_sendfile(full, file, NULL, 16))
ACT(splice, no_room_for_splice, ALARM, splice(source, NULL, full, NULL, MORE, 0))
ACT(pwritev2, no_room, ALARM, pwritev2(full, &vector, 1, -1, 0))
ACT(pwritev64v2, no_room, ALARM, pwritev64v2(full, &vector, 1, -1, 0))
ACT(eventfd_write, no_room_in_eventfd, ALARM, eventfd_write(full, 1))
ACT_AS(syscall_write, "syscall SYS_write", no_room, ALARM,
       syscall(SYS_write, full, more, (size_t)MORE))

/* The same names on the connection, behind held bytes: they must come after these, and leave with
 * them at the wait. */
static void more_to_send(void) {
    int ends[2];
    headers[0].msg_hdr = header;
    file = scratch_file();
    if (pipe(ends) < 0 || pwrite(file, more, MORE, 0) != MORE || write(ends[1], more, MORE) != MORE)
        fail("more");
    source = ends[0];
}

#define JOIN(id, title, call) \
    ACT_AS(join_##id, "join by " title, more_to_send, 0, ((call), poll(NULL, 0, WAIT_MS)))

JOIN(write, "write", write(connection, more, MORE))
JOIN(__write, "__write", other_write(connection, more, MORE))
JOIN(writev, "writev", writev(connection, &vector, 1))
JOIN(send, "send", send(connection, more, MORE, 0))
JOIN(__send, "__send", other_send(connection, more, MORE, 0))
JOIN(sendto, "sendto", sendto(connection, more, MORE, 0, NULL, 0))
JOIN(sendmsg, "sendmsg", sendmsg(connection, &header, 0))
JOIN(sendmmsg, "sendmmsg", sendmmsg(connection, headers, 1, 0))
JOIN(__sendmmsg, "__sendmmsg", other_sendmmsg(connection, headers, 1, 0))
JOIN(sendfile, "sendfile", plain_sendfile(connection, file, NULL, MORE))
JOIN(sendfile64, "sendfile64", wide_sendfile(connection, file, NULL, MORE))
JOIN(splice, "splice", splice(source, NULL, connection, NULL, MORE, 0))
JOIN(pwritev2, "pwritev2", pwritev2(connection, &vector, 1, -1, 0))
JOIN(pwritev64v2, "pwritev64v2", pwritev64v2(connection, &vector, 1, -1, 0))
JOIN(syscall, "syscall", syscall(SYS_write, connection, more, (size_t)MORE))

/* Where there is room: others may wait for what is written there. */
static int other;

static void an_eventfd(void) {
    other = eventfd(0, 0);
    if (other < 0)
        fail("eventfd");
}

static void another_connection(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    other = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) < 0 ||
        connect(other, (struct sockaddr *)&address, length) < 0)
        fail("another connection");
}

static void pair(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        fail("socketpair");
    other = ends[0];
}

ACT_AS(eventfd_room, "eventfd_write with room", an_eventfd, 0, eventfd_write(other, 1))
ACT_AS(socket_room, "send to a socket with room", pair, 0, send(other, "seen", 4, MSG_DONTWAIT))
ACT_AS(other_connection, "send on another connection", another_connection, 0, send(other, "seen", 4, 0))
