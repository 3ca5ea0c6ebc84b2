/* SPDX-License-Identifier: MIT
 *
 * A connection made by raw system calls, TCP_NODELAY set by the application, one write an exchange.
 */
#include "client.h"

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_unseen(client);
    mark(BEGIN);
    set_option(fd, TCP_NODELAY, 1);
    run_exchanges(fd, client.count, one_write);
    close(fd);
    mark(END);
    return report();
}
