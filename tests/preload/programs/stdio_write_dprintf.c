/* SPDX-License-Identifier: MIT
 *
 * The header by write, the body by dprintf: held bytes must leave before.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(dprintf(fd, "%.*s", BODY, message + HEADER) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
