/* SPDX-License-Identifier: MIT
 *
 * Sleeps half a millisecond between header and body: a wait that does wait.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(usleep(500) == 0);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
