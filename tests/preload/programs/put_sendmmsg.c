/* SPDX-License-Identifier: MIT
 *
 * sendmmsg of one message, twice, then read.
 */
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>
static bool put_message(int fd, char *data, size_t length)
{
    struct iovec piece = {data, length};
    struct mmsghdr header = {.msg_hdr = {.msg_iov = &piece, .msg_iovlen = 1}};
    return sendmmsg(fd, &header, 1, 0) == 1 && header.msg_len == length;
}
#define PUT put_message
#include "two_puts.h"
