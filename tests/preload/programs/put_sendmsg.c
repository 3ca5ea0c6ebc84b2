/* SPDX-License-Identifier: MIT
 *
 * sendmsg of two pieces, twice, then read.
 */
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>
static bool put_message(int fd, char *data, size_t length)
{
    struct iovec pieces[2] = {{data, 10}, {data + 10, length - 10}};
    struct msghdr header = {.msg_iov = pieces, .msg_iovlen = 2};
    return sendmsg(fd, &header, 0) == (ssize_t)length;
}
#define PUT put_message
#include "two_puts.h"
