/* SPDX-License-Identifier: MIT
 *
 * An application that corks each of its messages itself.
 */
#include "client.h"

static void cork(int fd, int value)
{
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &value, sizeof value) == 0);
}

static void exchange(int fd)
{
    cork(fd, 1);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    cork(fd, 0);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
