/* SPDX-License-Identifier: MIT
 *
 * A connection made by raw system calls, TCP_NODELAY set by the application, one write an exchange.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, sizeof message) == (ssize_t)sizeof message);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    static const int one = 1;
    client_t client = client_arguments(argc, argv);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    int fd = (int)raw_call(SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0);
    CHECK(raw_call(SYS_connect, fd, (long)&peer, sizeof peer, 0, 0) == 0);
    mark(BEGIN);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
    run_exchanges(fd, client.count, exchange);
    close(fd);
    mark(END);
    return report();
}
