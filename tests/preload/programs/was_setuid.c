/* SPDX-License-Identifier: MIT
 *
 * Exchanges, so that all threads are there that will be, then setuid to the own user: libc makes the
 * call in every thread, by a signal.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    CHECK(setuid(getuid()) == 0);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
