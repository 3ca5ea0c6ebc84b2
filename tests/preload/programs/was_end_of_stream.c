/* SPDX-License-Identifier: MIT
 *
 * One exchange, and then recvmmsg(2) of two messages at the end of the stream, or read(2) there.  argv[5]:
 * recvmmsg, or syscall (the same call by its number), or read.
 */
#include "client.h"

static int end_by(const char *how, int fd)
{
    char room[2][64];
    struct iovec parts[2] = {{room[0], sizeof room[0]}, {room[1], sizeof room[1]}};
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = &parts[0], .msg_iovlen = 1}},
                                  {.msg_hdr = {.msg_iov = &parts[1], .msg_iovlen = 1}}};
    if (strcmp(how, "read") == 0) return (int)read(fd, room[0], sizeof room[0]);
    int got = strcmp(how, "syscall") == 0 ? (int)syscall(SYS_recvmmsg, fd, messages, 2L, 0L, NULL)
                                          : recvmmsg(fd, messages, 2, 0, NULL);
    CHECK(got == 2);
    return (int)(messages[0].msg_len + messages[1].msg_len);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    CHECK(argc == 6);
    int fd = connect_to(client);
    next_message(0);
    CHECK(write(fd, message, sizeof message) == sizeof message);
    read_reply(fd);
    CHECK(shutdown(fd, SHUT_WR) == 0);
    CHECK(end_by(argv[5], fd) == 0);
    close(fd);
    return report();
}
