/* SPDX-License-Identifier: MIT
 *
 * The header by a plain write, the body in two halves, of which the first has MSG_MORE.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(send(fd, message + HEADER, BODY / 2, MSG_MORE) == BODY / 2);
    CHECK(write(fd, message + HEADER + BODY / 2, BODY / 2) == BODY / 2);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
