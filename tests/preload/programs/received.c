/* SPDX-License-Identifier: MIT
 *
 * Exchanges on a connection received over the Unix socket that is descriptor 0.
 */
#include "client.h"

static int receive_descriptor(void)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec piece = {&byte, 1};
    struct msghdr header = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    CHECK(recvmsg(0, &header, MSG_CMSG_CLOEXEC) == 1);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    CHECK(rights && rights->cmsg_type == SCM_RIGHTS);
    int fd;
    memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    return fd;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    run_exchanges(receive_descriptor(), atoi(argv[1]), two_writes);
    return report();
}
