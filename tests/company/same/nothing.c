/* SPDX-License-Identifier: MIT
 *
 * Reads of no bytes on a connection that the peer has reset.  read(2) of none asks no socket; recv(2) of none
 * does, and takes the error, unless input is there.  In coalesce the push before the read met the error
 * first: read(2) returned it, and the next call found the end.
 */
#include "same.h"

#include <signal.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

/* Once the reset has come, and the answer before it. */
static void peer_resets(int fd, const char *answer) {
    const struct linger at_once = {.l_onoff = 1};
    const struct timespec moment = {.tv_nsec = 1000000}, none = {0};
    const int now = 1;
    struct pollfd state = {.fd = fd};
    signal(SIGPIPE, SIG_IGN);
    NEED(raw6(SYS_setsockopt, peer, IPPROTO_TCP, TCP_NODELAY, (long)&now, sizeof(now), 0) == 0);
    if (answer)
        NEED(raw3(SYS_write, peer, answer, strlen(answer)) > 0);
    NEED(raw6(SYS_setsockopt, peer, SOL_SOCKET, SO_LINGER, (long)&at_once, sizeof(at_once), 0) == 0);
    NEED(raw1(SYS_close, peer) == 0);
    for (int i = 0; i < 3000 && !(state.revents & POLLERR); i++) {
        raw2(SYS_nanosleep, &moment, NULL);
        raw6(SYS_ppoll, (long)&state, 1, (long)&none, 0, 8, 0);
    }
    NEED(state.revents & POLLERR);
}

static void then(int fd) {
    char bytes[20];
    SAY(read(fd, bytes, sizeof(bytes)));
    SAY(recv(fd, bytes, sizeof(bytes), 0));
    SAY(write(fd, "late", 4));
}

static char byte[1];

/* Each of these is one way, with an answer that nobody has read, and without. */
#define READS(name, way)              \
    CASE(name) {                      \
        peer_resets(fd, NULL);        \
        SAY((way));                   \
        SAY((way));                   \
        then(fd);                     \
    }                                 \
    CASE(name##_behind_input) {       \
        peer_resets(fd, "an answer"); \
        SAY((way));                   \
        SAY((way));                   \
        then(fd);                     \
    }

READS(by_read, read(fd, byte, 0))
READS(by_readv, readv(fd, &(struct iovec){byte, 0}, 1))
READS(by_recv, recv(fd, byte, 0, 0))
READS(by_recv_at_once, recv(fd, byte, 0, MSG_DONTWAIT))
READS(by_recvmsg, recvmsg(fd, &(struct msghdr){.msg_iov = &(struct iovec){byte, 0}, .msg_iovlen = 1}, 0))
READS(by_recvmmsg, recvmmsg(fd, &(struct mmsghdr){.msg_hdr = {0}}, 1, 0, NULL))
READS(by_read_of_one, read(fd, byte, 1))

/* An error that these meet lets no later write succeed. */
static int file(void) {
    return (int)raw4(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY, 0);
}

static int filled_pipe(void) {
    int ends[2];
    NEED(raw2(SYS_pipe2, ends, 0) == 0 && raw3(SYS_write, ends[1], "piped", 5) == 5);
    return ends[0];
}

static int error_of(int fd) {
    int error = -1;
    NEED(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof(error)}) == 0);
    return error;
}

READS(by_recvfrom_of_one, recvfrom(fd, byte, 1, 0, NULL, NULL))
READS(by_sendfile, sendfile(fd, file(), NULL, 100))
READS(by_splice, splice(filled_pipe(), NULL, fd, NULL, 5, 0))
READS(by_sendmmsg, sendmmsg(fd, &(struct mmsghdr){.msg_hdr = {.msg_iov = &(struct iovec){byte, 1},
                                                              .msg_iovlen = 1}}, 1, 0))
READS(by_an_option, error_of(fd))
