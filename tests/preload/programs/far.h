/* SPDX-License-Identifier: MIT
 *
 * Arguments of calls in a mapping of their own, of which only the kernel can tell that it may be read.
 */
#ifndef UNSTALL_TEST_FAR_H
#define UNSTALL_TEST_FAR_H

#include <aio.h>

#include "client.h"

struct far {
    struct mmsghdr one;
    struct iovec piece;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control;
    char byte;
    uint64_t child[8];
    struct aiocb request, *list[1];
};

static UNUSED struct far *far_mapping(void) {
    struct far *far = mmap(NULL, sizeof *far, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(far != MAP_FAILED);
    return far;
}

static UNUSED struct msghdr *header(struct far *far, void *data, size_t length) {
    far->piece = (struct iovec){data, length};
    far->one.msg_hdr = (struct msghdr){.msg_iov = &far->piece, .msg_iovlen = 1};
    return &far->one.msg_hdr;
}

/* One byte, and a descriptor beside it. */
static UNUSED struct msghdr *rights(struct far *far, int fd) {
    struct msghdr *message = header(far, &far->byte, 1);
    message->msg_control = &far->control;
    message->msg_controllen = sizeof far->control;
    far->control.head =
        (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&far->control.head), &fd, sizeof fd);
    return message;
}

#endif
