/* SPDX-License-Identifier: MIT
 *
 * An application that sets TCP_QUICKACK itself, to its fourth argument.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, sizeof message) == sizeof message);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int on = client.protocol;
    client.protocol = 0;
    int fd = connect_to(client);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on) == 0);
    run_exchanges(fd, client.count, exchange);
    close(fd);
    return report();
}
