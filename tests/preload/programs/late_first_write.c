/* SPDX-License-Identifier: MIT
 *
 * Connects without waiting for it, asks SO_ERROR once connected, works for 300 ms (as a TLS library
 * may that reads its certificates), and only then writes.
 */
#include "client.h"

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), error = -1;
    socklen_t length = sizeof error;
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    CHECK(connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0 || errno == EINPROGRESS);
    usleep(500000); /* the handshake of a far peer */
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    CHECK(poll(&wait, 1, 5000) == 1);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0);
    usleep(300000);
    CHECK(fcntl(fd, F_SETFL, 0) == 0);
    run_exchanges(fd, client.count, one_write);
    close(fd);
    return report();
}
