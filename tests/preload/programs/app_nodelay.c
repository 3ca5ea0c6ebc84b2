/* SPDX-License-Identifier: MIT
 *
 * An application that set TCP_NODELAY=1 itself and writes twice.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    static const int one = 1;
    mark(BEGIN);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
    run_exchanges(fd, client.count, exchange);
    close(fd);
    mark(END);
    return report();
}
