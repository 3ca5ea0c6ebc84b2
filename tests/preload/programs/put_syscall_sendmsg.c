/* SPDX-License-Identifier: MIT
 *
 * Written through syscall(SYS_sendmsg).
 */
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static bool put_message(int fd, char *data, size_t length)
{
    struct iovec piece = {data, length};
    struct msghdr header = {.msg_iov = &piece, .msg_iovlen = 1};
    return syscall(SYS_sendmsg, fd, &header, 0) == (long)length;
}
#define PUT put_message
#include "two_puts.h"
