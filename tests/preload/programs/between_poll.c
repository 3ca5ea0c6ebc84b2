/* SPDX-License-Identifier: MIT
 *
 * Polls between header and body, as Qt does: readable or writable.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    struct pollfd ready = {.fd = fd, .events = POLLIN | POLLOUT};
    CHECK(poll(&ready, 1, -1) == 1);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
