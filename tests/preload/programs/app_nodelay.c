/* SPDX-License-Identifier: MIT
 *
 * An application that set TCP_NODELAY=1 itself and writes twice.
 */
#include "client.h"

int main(int argc, char **argv)
{
    static const int one = 1;
    mark(BEGIN);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
    run_exchanges(fd, client.count, two_writes);
    close(fd);
    mark(END);
    return report();
}
