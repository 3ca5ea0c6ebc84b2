/* SPDX-License-Identifier: MIT
 *
 * The parent connects and makes the first exchanges, a forked child goes on.
 */
#include "client.h"

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    exchange_all(fd, 0, 2);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) return status_of(child);
    run_exchanges_from(2, fd, client.count - 2, two_writes);
    close(fd);
    return report();
}
