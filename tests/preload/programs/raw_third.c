/* SPDX-License-Identifier: MIT
 *
 * A header and a body, and 60 ms later a third piece by a raw system call.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    usleep(60000);
    CHECK(raw_call(SYS_write, fd, (long)message, 50, 0, 0) == 50);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
