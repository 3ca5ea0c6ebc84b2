/* SPDX-License-Identifier: MIT
 *
 * Reads from one descriptor and writes to a dup of it, as git does.
 */
#include "client.h"

static int copy;

static void exchange(int fd)
{
    CHECK(write(copy, message, HEADER) == HEADER);
    CHECK(write(copy, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    CHECK((copy = dup(fd)) >= 0);
    run_exchanges(fd, client.count, exchange);
    close(copy);
    close(fd);
    return report();
}
