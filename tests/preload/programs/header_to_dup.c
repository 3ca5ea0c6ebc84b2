/* SPDX-License-Identifier: MIT
 *
 * The header to one descriptor of the connection, the body to another.
 */
#include "client.h"

static int copy;

static void exchange(int fd)
{
    CHECK(write(copy, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    CHECK((copy = fcntl(fd, F_DUPFD_CLOEXEC, 100)) >= 100);
    run_exchanges(fd, client.count, exchange);
    close(copy);
    close(fd);
    return report();
}
