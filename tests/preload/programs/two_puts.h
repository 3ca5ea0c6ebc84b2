/* SPDX-License-Identifier: MIT
 *
 * A client with the exchange PUT(header), PUT(body), read: the including file
 * defines PUT(fd, data, length), which returns true when all was written.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(PUT(fd, message, HEADER));
    CHECK(PUT(fd, message + HEADER, BODY));
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
