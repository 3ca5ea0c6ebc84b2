/* SPDX-License-Identifier: MIT
 *
 * Waits, reads, options, the life of descriptors and processes, with pointers that lead nowhere: the
 * kernel's to refuse, or libc's own fault.  Each pointer of each name is abi/every_name.c's.
 */
#include "same.h"

#include <sys/sem.h>

#define NOWHERE ((void *)nowhere)

static int unix_stream(void) {
    int ends[2];
    NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    NEED(raw3(SYS_write, ends[1], "from the other end", 18) == 18);
    return ends[0];
}

/* ---- waits ------------------------------------------------------------ */

CASE(poll_nowhere) {
    SAY(poll(NOWHERE, 1, 1));
    SAY(poll(NOWHERE, 1, 0));
    SAY(poll(NOWHERE, 0, 1));
    SAY(poll(NULL, 1, 1));
    SAY(poll(NOWHERE, 1UL << 60, 1));
    SAY(poll(NOWHERE, 100000000, 1));
}

CASE(poll_that_is_half_there) {
    struct pollfd *fds = (struct pollfd *)(void *)end_of_memory - 1;
    *fds = (struct pollfd){.fd = fd, .events = POLLOUT};
    SAY(poll(fds, 2, 1));
    SAY(poll(fds, 1, 1));
    say("revents %d", fds->revents);
}

CASE(poll_that_cannot_be_written) {
    SAY(poll((struct pollfd *)(void *)read_only, 1, 1));
}

CASE(select_nowhere) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    struct timeval moment = {.tv_usec = 1000};
    SAY(select(fd + 1, NOWHERE, NULL, NULL, &moment));
    SAY(select(fd + 1, NULL, NOWHERE, NULL, &moment));
    SAY(select(fd + 1, NULL, NULL, NOWHERE, &moment));
    SAY(select(fd + 1, &set, NOWHERE, NULL, &moment));
    SAY(select(-1, NOWHERE, NULL, NULL, &moment));
    SAY(select(0, NOWHERE, NOWHERE, NOWHERE, &moment));
}

CASE(select_that_cannot_be_written) {
    struct timeval moment = {.tv_usec = 1000};
    SAY(select(fd + 1, NULL, (fd_set *)(void *)read_only, NULL, &moment));
    SAY(select(fd + 1, (fd_set *)(void *)read_only, NULL, NULL, &moment));
}

CASE(select_of_what_ends_with_memory) {
    fd_set *set = (fd_set *)(void *)(end_of_memory - 8);
    struct timeval moment = {.tv_usec = 1000};
    NEED(fd < 64);
    *(uint64_t *)(void *)set = UINT64_C(1) << fd;
    SAY(select(fd + 1, NULL, set, NULL, &moment));
    SAY(select(64, set, NULL, NULL, &moment));
    SAY(select(65, NULL, set, NULL, &moment));
}

CASE(semop_too_many) {
    struct sembuf up = {0, 1, IPC_NOWAIT};
    int id = semget(IPC_PRIVATE, 2, 0600);
    NEED(id >= 0);
    SAY(semop(id, &up, 1 << 20));
    SAY(semop(id, &up, 1));
    SAY(semop(-1, &up, 1));
    SAY(semtimedop(id, &up, 1, NOWHERE));
    SAY(semtimedop(id, &up, 1 << 20, NOWHERE));
    SAY(semtimedop(id, &up, 1, &(struct timespec){0}));
    say("semaphore %d", semctl(id, 0, GETVAL));
    struct sembuf *last = (struct sembuf *)(void *)end_of_memory - 1;
    *last = up;
    SAY(semop(id, last, 2));
    SAY(semop(id, last, 1));
    say("semaphore %d", semctl(id, 0, GETVAL));
    semctl(id, 0, IPC_RMID);
}

/* ---- reads ------------------------------------------------------------ */

static void read_nowhere(int from) {
    struct iovec parts[2] = {{nowhere, 5}, {known, 5}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    struct msghdr bad = {.msg_iov = NOWHERE, .msg_iovlen = 2};
    struct mmsghdr many = {.msg_hdr = bad};
    SAY(read(from, nowhere, 5));
    SAY(recv(from, nowhere, 5, 0));
    SAY(recvfrom(from, nowhere, 5, 0, NULL, NULL));
    SAY(readv(from, parts, 2));
    SAY(readv(from, NOWHERE, 2));
    SAY(preadv2(from, NOWHERE, 2, -1, 0));
    SAY(recvmsg(from, NOWHERE, 0));
    SAY(recvmsg(from, &bad, 0));
    SAY(recvmsg(from, &message, 0));
    SAY(recvmmsg(from, NOWHERE, 1, 0, NULL));
    SAY(recvmmsg(from, &many, 1, 0, NULL));
    SAY(recvmmsg(from, &many, 1, 0, NOWHERE));
    SAY(syscall(SYS_read, from, nowhere, 5));
    SAY(syscall(SYS_readv, from, nowhere, 2));
    SAY(syscall(SYS_recvfrom, from, nowhere, 5, 0, NULL, NULL));
    SAY(syscall(SYS_recvmsg, from, nowhere, 0));
    SAY(syscall(SYS_recvmsg, from, &bad, 0));
}

CASE(reads_nowhere) {
    NEED(raw3(SYS_write, peer, "an answer, not taken by any of these", 36) == 36);
    read_nowhere(fd);
}

CASE(reads_nowhere_of_other_kinds) {
    read_nowhere(unix_stream());
    read_nowhere(-1);
}

CASE(control_read_to_nowhere) {
    char text[8];
    struct iovec part = {text, 8};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = nowhere, .msg_controllen = 64};
    int from = unix_stream(), one = 1;
    NEED(setsockopt(from, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) == 0);
    SAY(recvmsg(from, &message, 0));
    say("flags %d, control %zu", message.msg_flags, message.msg_controllen);
    message.msg_controllen = 64;
    SAY(syscall(SYS_recvmsg, from, &message, 0));
    say("flags %d, control %zu", message.msg_flags, message.msg_controllen);
}

/* A descriptor in a message, where only the header's place can be written. */
CASE(descriptor_read_to_nowhere) {
    char text[1], room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = "";
    int ends[2];
    struct iovec part = {text, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    struct cmsghdr *h = CMSG_FIRSTHDR(&message);
    *h = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(h), &fd, sizeof(fd));
    SAY(sendmsg(ends[0], &message, 0));
    SAY(sendmsg(ends[0], &message, 0));
    message.msg_control = end_of_memory - sizeof(struct cmsghdr);
    SAY(recvmsg(ends[1], &message, 0));
    say("flags %d, control %zu", message.msg_flags, message.msg_controllen);
    message.msg_control = nowhere;
    message.msg_controllen = sizeof(room);
    SAY(recvmsg(ends[1], &message, 0));
    say("flags %d, control %zu", message.msg_flags, message.msg_controllen);
}

CASE(address_read_to_nowhere) {
    char text[8];
    socklen_t length = 16;
    NEED(raw3(SYS_write, peer, "an answer", 9) == 9);
    SAY(recvfrom(fd, text, 1, 0, NOWHERE, &length));
    SAY(recvfrom(fd, text, 1, 0, NOWHERE, NOWHERE));
}

/* ---- sockets ---------------------------------------------------------- */

CASE(addresses_nowhere) {
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t length = sizeof(any);
    int listener = socket(AF_INET, SOCK_STREAM, 0), other = socket(AF_INET, SOCK_STREAM, 0);
    SAY(bind(listener, NOWHERE, 16));
    SAY(bind(listener, (struct sockaddr *)&any, sizeof(any)));
    SAY(listen(listener, 1));
    SAY(connect(other, NOWHERE, 16));
    SAY(connect(other, NOWHERE, 0));
    SAY(connect(other, NULL, 16));
    SAY(connect(other, (struct sockaddr *)&any, 3));
    SAY(connect(other, (struct sockaddr *)&any, -1));
    SAY(connect(fd, NOWHERE, 16));
    SAY(getsockname(listener, (struct sockaddr *)&any, &length));
    SAY(fcntl(listener, F_SETFL, O_NONBLOCK));
    SAY(accept(listener, NOWHERE, &length));
    SAY(connect(other, (struct sockaddr *)&any, sizeof(any)));
    SAY(accept(listener, NOWHERE, &length));
    SAY(accept4(listener, NOWHERE, NOWHERE, 0));
}

static const int options[][2] = {{IPPROTO_TCP, TCP_NODELAY}, {IPPROTO_TCP, TCP_CORK},
                                 {IPPROTO_TCP, TCP_QUICKACK}, {IPPROTO_TCP, TCP_ULP},
                                 {SOL_SOCKET, SO_SNDBUF},     {SOL_SOCKET, SO_ERROR}};

CASE(options_nowhere) {
    socklen_t length;
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        int level = options[i][0], name = options[i][1], value = 0;
        /* TCP_ULP takes a string, and no null ends this one.  Without a BPF program at setsockopt(2) the
         * kernel reads up to the null; with one it copies all four bytes and refuses them. */
        memcpy(end_of_memory - 2, "xx", 2);
        SAY(setsockopt(fd, level, name, NOWHERE, 4));
        SAY(setsockopt(fd, level, name, NOWHERE, 0));
        SAY(setsockopt(fd, level, name, NULL, 4));
        SAY(setsockopt(fd, level, name, &value, -1));
        SAY(setsockopt(fd, level, name, end_of_memory - 2, 4));
        length = 4;
        SAY(getsockopt(fd, level, name, NOWHERE, &length));
        SAY(getsockopt(fd, level, name, &value, NOWHERE));
        SAY(getsockopt(fd, level, name, NULL, &length));
        length = 0;
        SAY(getsockopt(fd, level, name, NOWHERE, &length));
        length = 2;
        SAY(getsockopt(fd, level, name, end_of_memory - 2, &length));
        length = (socklen_t)-1;
        SAY(getsockopt(fd, level, name, &value, &length));
    }
}

CASE(options_of_none) {
    SAY(setsockopt(-1, IPPROTO_TCP, TCP_NODELAY, NOWHERE, 4));
    SAY(getsockopt(-1, IPPROTO_TCP, TCP_NODELAY, NOWHERE, (socklen_t *)NULL));
}

/* ---- processes -------------------------------------------------------- */

CASE(programs_nowhere) {
    char *words[] = {"true", NULL};
    SAY(execve(nowhere, words, environ));
    SAY(execve("/bin/true", NOWHERE, environ));
    SAY(execve("/bin/true", words, NOWHERE));
    SAY(execv(nowhere, words));
    SAY(execveat(AT_FDCWD, nowhere, words, environ, 0));
    SAY(syscall(SYS_execve, nowhere, words, environ));
    SAY(prctl(PR_SET_NAME, nowhere));
    SAY(prctl(PR_SET_SECCOMP, 2, nowhere));
    SAY(syscall(SYS_prctl, PR_SET_NAME, nowhere));
}

CASE(names_nowhere) {
    SAY(rename(nowhere, "/nowhere/at/all"));
    SAY(rename("/nowhere/at/all", nowhere));
    SAY(sigqueue(0, 0, (union sigval){0}));
    SAY(syscall(SYS_io_uring_setup, 4, nowhere));
}

/* ---- stdio ------------------------------------------------------------ */

CASE(stream_null) {
    SAY(fclose(NULL));
}

CASE(format_nowhere) {
    SAY(dprintf(fd, "%s", nowhere));
}
