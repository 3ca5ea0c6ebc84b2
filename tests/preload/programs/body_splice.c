/* SPDX-License-Identifier: MIT
 *
 * The header by write, the body spliced out of a pipe, then read.
 */
#include "client.h"

static int pipe_ends[2];

static void exchange(int fd)
{
    CHECK(write(pipe_ends[1], message + HEADER, BODY) == BODY);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(splice(pipe_ends[0], NULL, fd, NULL, BODY, 0) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    CHECK(pipe(pipe_ends) == 0);
    return client_main(argc, argv, exchange);
}
