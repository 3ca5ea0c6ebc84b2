/* SPDX-License-Identifier: MIT
 *
 * A child has the connection too, and runs a program only after the parent has made more than a hundred
 * exchanges: then the parent goes on.
 */
#include "client.h"

enum { BETWEEN = 150 };

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), go[2];
    char byte;
    CHECK(pipe(go) == 0);
    run_exchanges(fd, client.count, two_writes);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(go[1]);
        if (read(go[0], &byte, 1) == 0) execl("/bin/true", "true", NULL);
        _exit(127);
    }
    close(go[0]);
    run_exchanges(fd, BETWEEN, two_writes);
    close(go[1]);
    CHECK(status_of(child) == 0);
    run_exchanges(fd, client.count, two_writes);
    return report();
}
