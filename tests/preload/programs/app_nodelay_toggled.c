/* SPDX-License-Identifier: MIT
 *
 * An application that toggles TCP_NODELAY, 1 then 0, after each exchange, as tornado does.
 */
#include "client.h"

static void exchange(int fd)
{
    static const int one = 1, zero;
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &zero, sizeof zero) == 0);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
