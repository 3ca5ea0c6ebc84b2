/* SPDX-License-Identifier: MIT
 *
 * A stream of small writes that never has an answer: Nagle is to protect the network.
 */
#include "client.h"

int main(int argc, char **argv)
{
    mark(BEGIN);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    char piece[20];
    for (int i = 0; i < client.count; i++) {
        fill(piece, sizeof piece, (size_t)i * sizeof piece);
        mark(i);
        CHECK(write(fd, piece, sizeof piece) == (ssize_t)sizeof piece);
        if (i % 20 == 19) usleep(1000);
    }
    mark(END);
    ADD_FACT("\"nodelay\": %d", raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    /* Bytes that are still held must count, too. */
    shutdown(fd, SHUT_WR);
    char end;
    CHECK(read(fd, &end, 1) == 0);
    facts.segments_after = data_segments(fd);
    close(fd);
    return report();
}
