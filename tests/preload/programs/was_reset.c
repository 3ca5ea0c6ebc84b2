/* SPDX-License-Identifier: MIT
 *
 * Exchanges, until the peer resets the connection; then small writes, some time apart.  Prints
 * the result of each.
 */
#include "client.h"

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    signal(SIGPIPE, SIG_IGN);
    exchange_all(fd, 0, client.count);
    tell_peer(client);
    await_error(fd, true);
    for (int i = 0; i < 6; i++) {
        ssize_t n = write(fd, message, BODY);
        printf("%zd %s\n", n, n < 0 ? strerrorname_np(errno) : "");
        await_error(fd, false); /* buffered bytes meet it when the window ends */
    }
    return report();
}
