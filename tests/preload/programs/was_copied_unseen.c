/* SPDX-License-Identifier: MIT
 *
 * A connection made by raw system calls and copied before its first use: messages of two writes by one
 * number, which is then closed.  Prints the value that the other number reads back.
 */
#include "client.h"

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    int fd = (int)raw_call(SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0);
    CHECK(raw_call(SYS_connect, fd, (long)&peer, sizeof peer, 0, 0) == 0);
    int copy = dup(fd), value = -1;
    socklen_t length = sizeof value;
    run_exchanges(fd, client.count, two_writes);
    close(fd);
    CHECK(getsockopt(copy, IPPROTO_TCP, TCP_NODELAY, &value, &length) == 0);
    ADD_FACT("\"nodelay\": %d", value);
    run_exchanges(copy, client.count, two_writes);
    return report();
}
