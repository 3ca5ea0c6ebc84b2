/* SPDX-License-Identifier: MIT
 *
 * Reads that find nothing: of the connection itself, of a pipe, of an eventfd,
 * of a terminal.
 */
#include "acts.h"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>

extern ssize_t other_read(int, void *, size_t) SYMBOL("__read");
extern ssize_t read_chk(int, void *, size_t, size_t) SYMBOL("__read_chk");
extern ssize_t other_recv(int, void *, size_t, int) SYMBOL("__recv");
extern ssize_t recv_chk(int, void *, size_t, size_t, int) SYMBOL("__recv_chk");
extern ssize_t recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *)
    SYMBOL("__recvfrom_chk");

static char room[64];
static struct iovec vector = {room, sizeof room};
static struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
static struct mmsghdr headers[1];
static int empty;

static void one_message(void) {
    headers[0].msg_hdr = header;
}

static void empty_pipe(void) {
    int ends[2];
    if (pipe(ends) < 0)
        fail("pipe");
    empty = ends[0];
}

static void empty_pair(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        fail("socketpair");
    empty = ends[0];
}

static void empty_eventfd(void) {
    empty = eventfd(0, 0);
    if (empty < 0)
        fail("eventfd");
}

static void quiet_terminal(void) {
    int controller = posix_openpt(O_RDWR | O_NOCTTY);
    if (controller < 0 || grantpt(controller) < 0 || unlockpt(controller) < 0)
        fail("terminal");
    empty = open(ptsname(controller), O_RDWR | O_NOCTTY);
    if (empty < 0)
        fail("terminal");
}

ACT(read, NULL, ALARM, read(connection, room, sizeof room))
ACT(__read, NULL, ALARM, other_read(connection, room, sizeof room))
ACT(__read_chk, NULL, ALARM, read_chk(connection, room, sizeof room, sizeof room))
ACT(readv, NULL, ALARM, readv(connection, &vector, 1))
ACT(preadv2, NULL, ALARM, preadv2(connection, &vector, 1, -1, 0))
ACT(preadv64v2, NULL, ALARM, preadv64v2(connection, &vector, 1, -1, 0))
ACT(recv, NULL, ALARM, recv(connection, room, sizeof room, 0))
ACT(__recv, NULL, ALARM, other_recv(connection, room, sizeof room, 0))
ACT(__recv_chk, NULL, ALARM, recv_chk(connection, room, sizeof room, sizeof room, 0))
ACT(recvfrom, NULL, ALARM, recvfrom(connection, room, sizeof room, 0, NULL, NULL))
ACT(__recvfrom_chk, NULL, ALARM,
    recvfrom_chk(connection, room, sizeof room, sizeof room, 0, NULL, NULL))
ACT(recvmsg, NULL, ALARM, recvmsg(connection, &header, 0))
ACT(recvmmsg, one_message, ALARM, recvmmsg(connection, headers, 1, 0, NULL))
ACT(eventfd_read, empty_eventfd, ALARM, eventfd_read(empty, &(eventfd_t){0}))

/* by syscall(2) */
ACT_AS(by_recvmmsg, "syscall SYS_recvmmsg", one_message, ALARM,
       syscall(SYS_recvmmsg, connection, headers, 1, 0, NULL))
ACT_AS(by_preadv2, "syscall SYS_preadv2", NULL, ALARM,
       syscall(SYS_preadv2, connection, &vector, 1, -1L, -1L, 0))
#ifdef SYS_recv /* arm, ppc64 */
ACT_AS(by_recv, "syscall SYS_recv", NULL, ALARM, syscall(SYS_recv, connection, room, sizeof room, 0))
#endif

/* other things than the connection, by the names that a program would use */
ACT_AS(read_pipe, "read a pipe", empty_pipe, ALARM, read(empty, room, sizeof room))
ACT_AS(read_eventfd, "read an eventfd", empty_eventfd, ALARM, read(empty, room, 8))
ACT_AS(read_terminal, "read a terminal", quiet_terminal, ALARM, read(empty, room, sizeof room))
ACT_AS(readv_pipe, "readv a pipe", empty_pipe, ALARM, readv(empty, &vector, 1))
ACT_AS(recv_other, "recv from another socket", empty_pair, ALARM, recv(empty, room, sizeof room, 0))
ACT_AS(recvmsg_other, "recvmsg from another socket", empty_pair, ALARM, recvmsg(empty, &header, 0))
