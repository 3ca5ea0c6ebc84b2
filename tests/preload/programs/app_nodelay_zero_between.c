/* SPDX-License-Identifier: MIT
 *
 * An application that sets TCP_NODELAY=0 between header and body.
 */
#include "client.h"

static void exchange(int fd)
{
    static const int zero;
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &zero, sizeof zero) == 0);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
