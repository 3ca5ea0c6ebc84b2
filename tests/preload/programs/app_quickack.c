/* SPDX-License-Identifier: MIT
 *
 * An application that sets TCP_QUICKACK itself, to its fourth argument.
 */
#include "client.h"

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int on = client.protocol;
    client.protocol = 0;
    int fd = connect_to(client);
    set_option(fd, TCP_QUICKACK, on);
    run_exchanges(fd, client.count, one_write);
    close(fd);
    return report();
}
