/* SPDX-License-Identifier: MIT
 *
 * Shared by the files combined*.c.
 */
#ifndef SAME_COMBINED_H
#define SAME_COMBINED_H

#include "same.h"

#include <stdbool.h>
#include <sys/wait.h>

static inline void wait_for(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) == -1 && errno == EINTR)
        ;
    say("the child ended with %x", (unsigned)status);
}

/* By a raw call, which the library does not see: it ends no turn. */
static inline void wait_unseen(pid_t child) {
    int status = -1;
    raw4(SYS_wait4, child, &status, 0, 0);
    say("the child ended with %x", (unsigned)status);
}

static inline void peer_answers(const char *text) {
    raw3(SYS_write, peer, text, strlen(text));
}

/* One byte and a descriptor. */
static inline long pass(int over, int fd) {
    char byte = 'x', room[CMSG_SPACE(sizeof fd)] __attribute__((aligned(8))) = "";
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    *CMSG_FIRSTHDR(&message) = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &fd, sizeof fd);
    return sendmsg(over, &message, 0);
}

static inline int passed(int over, bool unseen) {
    char byte, room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = "";
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    int fd;
    NEED((unseen ? raw3(SYS_recvmsg, over, &message, 0) : recvmsg(over, &message, 0)) == 1);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

#endif
