/* SPDX-License-Identifier: MIT
 *
 * Polls for writability alone between header and body.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    CHECK(poll(&ready, 1, -1) == 1);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
