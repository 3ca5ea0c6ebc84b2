/* SPDX-License-Identifier: MIT
 *
 * A header, and a body that is larger than loopback's MSS at first (32 741 B) and smaller than it soon after
 * (65 483 B): from then on the body is one small segment, which Nagle keeps back behind the header.
 */
#include "client.h"

static void exchange(int fd)
{
    static char body[40000];
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, body, sizeof body) == (ssize_t)sizeof body);
    read_reply(fd);
}

int main(int argc, char **argv) { return client_main(argc, argv, exchange); }
