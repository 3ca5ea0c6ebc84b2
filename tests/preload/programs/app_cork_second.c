/* SPDX-License-Identifier: MIT
 *
 * A small write, then a corked unit as the second of the message: TCP_CORK=0
 * does not push while bytes are unacknowledged, Nagle holds the unit back.
 */
#include "client.h"

static void cork(int fd, int value)
{
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &value, sizeof value) == 0);
}

static void exchange(int fd)
{
    CHECK(write(fd, message, 50) == 50);
    cork(fd, 1);
    CHECK(write(fd, message + 50, HEADER - 50) == HEADER - 50);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    cork(fd, 0);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
