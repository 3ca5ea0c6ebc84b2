/* SPDX-License-Identifier: MIT
 *
 * A large body and a small trailer (the last chunk of a chunked answer, say), at the MSS of an Ethernet:
 * the body's tail is a small segment, behind which Nagle keeps the trailer.
 */
#include "client.h"

enum { MSS = 1448, LARGE = 66000, SMALL = 100 };

static void exchange(int fd)
{
    static char body[LARGE], trailer[SMALL];
    CHECK(write(fd, body, LARGE) == LARGE);
    CHECK(write(fd, trailer, SMALL) == SMALL);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), mss = MSS;
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss) == 0);
    CHECK(connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0);
    run_exchanges(fd, client.count, exchange);
    return report();
}
