/* SPDX-License-Identifier: MIT
 *
 * A connection made by raw system calls and copied before its first use: messages of two writes by one
 * number, which is then closed.  Prints the value that the other number reads back.
 */
#include "client.h"

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_unseen(client), copy = dup(fd);
    run_exchanges(fd, client.count, two_writes);
    close(fd);
    ADD_FACT("\"nodelay\": %d", option_of(copy, TCP_NODELAY));
    run_exchanges(copy, client.count, two_writes);
    return report();
}
