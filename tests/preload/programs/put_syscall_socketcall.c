/* SPDX-License-Identifier: MIT
 *
 * Written and read through syscall(SYS_socketcall), the one call for sockets of 32-bit x86: the header by
 * SYS_SEND, the body by SYS_SENDMSG, the answer by SYS_RECV.
 */
#include "client.h"
#include <linux/net.h>

static long socket_call(int number, const unsigned long *arguments)
{
    return syscall(SYS_socketcall, number, arguments);
}

static void exchange(int fd)
{
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

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
