/* SPDX-License-Identifier: MIT
 *
 * A habit of one write a turn, for the first half of the exchanges; then two writes a turn.
 */
#include "client.h"

static int singles;

static void exchange(int fd)
{
    if (singles-- > 0) {
        CHECK(write(fd, message, sizeof message) == (ssize_t)sizeof message);
    } else {
        CHECK(write(fd, message, HEADER) == HEADER);
        CHECK(write(fd, message + HEADER, BODY) == BODY);
    }
    read_reply(fd);
}

int main(int argc, char **argv)
{
    singles = client_arguments(argc, argv).count / 2;
    return client_main(argc, argv, exchange);
}
