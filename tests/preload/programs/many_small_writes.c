/* SPDX-License-Identifier: MIT
 *
 * Fifteen writes of twenty bytes, then read: a message of many pieces.
 */
#include "client.h"

static void exchange(int fd)
{
    for (int at = 0; at < HEADER + BODY; at += 20) CHECK(write(fd, message + at, 20) == 20);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
