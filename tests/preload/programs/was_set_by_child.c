/* SPDX-License-Identifier: MIT
 *
 * A connection that came over a Unix socket, is cured, and then goes on in a forked child, which sets
 * TCP_NODELAY itself.  The parent closes its number after that.  The child prints the kernel's value.
 */
#include "client.h"

static int sent_to_ourselves(int fd)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    send_descriptor(ends[0], fd, false);
    close(fd);
    return receive_descriptor(ends[1], 0);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = sent_to_ourselves(connect_to(client)), set[2], closed[2];
    char byte = 0;
    CHECK(pipe(set) == 0 && pipe(closed) == 0);
    exchange_all(fd, 0, client.count);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        set_option(fd, TCP_NODELAY, 1);
        CHECK(write(set[1], &byte, 1) == 1 && read(closed[0], &byte, 1) == 1);
        _exit(raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    }
    CHECK(read(set[0], &byte, 1) == 1);
    close(fd);
    CHECK(write(closed[1], &byte, 1) == 1);
    ADD_FACT("\"nodelay\": %d", status_of(child));
    return report();
}
