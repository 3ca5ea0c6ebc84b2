/* SPDX-License-Identifier: MIT
 *
 * Ends the sending side before it reads the reply, and writes once more.  The fact `refused`: the errno
 * of that write.
 */
#include "client.h"

static void pieces(int fd)
{
    write_message(fd);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    int fd = connect_to(client);
    for (int i = 0; i < client.count; i++) {
        pieces(fd);
        read_reply(fd);
    }
    pieces(fd);
    CHECK(shutdown(fd, SHUT_WR) == 0);
    read_reply(fd);
    ssize_t sent = write(fd, message, 1);
    ADD_FACT("\"refused\": %d", sent < 0 ? errno : 0);
    close(fd);
    return report();
}
