/* SPDX-License-Identifier: MIT
 *
 * Selects for writability between header and body, as wget and HTTP::Tiny do.
 */
#include "client.h"
#include <sys/select.h>

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    fd_set writable;
    FD_ZERO(&writable);
    FD_SET(fd, &writable);
    CHECK(select(fd + 1, NULL, &writable, NULL, NULL) == 1);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
