/* SPDX-License-Identifier: MIT
 *
 * A connection that came over a Unix socket, is cured, and then goes on in a forked child, which sets
 * TCP_NODELAY itself.  The parent closes its number after that.  The child prints the kernel's value.
 */
#include "client.h"

static int sent_to_ourselves(int fd)
{
    int ends[2], arrived;
    char byte = 'd', control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(sendmsg(ends[0], &message, 0) == 1 && recvmsg(ends[1], &message, 0) == 1);
    memcpy(&arrived, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof arrived);
    close(fd);
    return arrived;
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = sent_to_ourselves(connect_to(client)), set[2], closed[2], status, on = 1;
    char byte = 0;
    CHECK(pipe(set) == 0 && pipe(closed) == 0);
    for (int i = 0; i < client.count; i++) {
        next_message(i);
        two_writes(fd);
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
        CHECK(write(set[1], &byte, 1) == 1 && read(closed[0], &byte, 1) == 1);
        _exit(raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    }
    CHECK(read(set[0], &byte, 1) == 1);
    close(fd);
    CHECK(write(closed[1], &byte, 1) == 1);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    ADD_FACT("\"nodelay\": %d", WEXITSTATUS(status));
    return report();
}
