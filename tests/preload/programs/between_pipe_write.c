/* SPDX-License-Identifier: MIT
 *
 * Writes to a pipe between header and body.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    static int ends[2];
    char byte = 0;
    if (ends[0] == 0) CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], &byte, 1) == 1);
    CHECK(read(ends[0], &byte, 1) == 1);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
