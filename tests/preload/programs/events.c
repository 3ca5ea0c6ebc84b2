/* SPDX-License-Identifier: MIT
 *
 * Four exchanges, and then a stream of events, a header and a body each, 60 ms apart.
 */
#include "client.h"

static void exchange(int fd)
{
    static int done;
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    if (done++ < 4)
        read_reply(fd);
    else
        usleep(60000);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
