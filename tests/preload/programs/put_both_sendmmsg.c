/* SPDX-License-Identifier: MIT
 *
 * Header and body as two messages of one sendmmsg: two small writes in one call.
 */
#include "client.h"

static void exchange(int fd)
{
    struct iovec halves[2] = {{message, HEADER}, {message + HEADER, BODY}};
    struct mmsghdr headers[2] = {
        {.msg_hdr = {.msg_iov = &halves[0], .msg_iovlen = 1}},
        {.msg_hdr = {.msg_iov = &halves[1], .msg_iovlen = 1}},
    };
    CHECK(sendmmsg(fd, headers, 2, 0) == 2);
    CHECK(headers[0].msg_len == HEADER && headers[1].msg_len == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
