/* SPDX-License-Identifier: MIT
 *
 * The header by dprintf, the body by write: stdio writes below the library's sight.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(dprintf(fd, "%.*s", HEADER, message) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
