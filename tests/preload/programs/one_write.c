/* SPDX-License-Identifier: MIT
 *
 * Without the pattern: one write a turn, then read.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, sizeof message) == (ssize_t)sizeof message);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
