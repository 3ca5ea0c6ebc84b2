/* SPDX-License-Identifier: MIT
 *
 * A client that makes all its system calls inline: no library sees them.
 *
 * ADDRESS PORT EXCHANGES
 */
#include "../../preload/programs/client.h"

static void exchange(int fd) {
    char reply[REPLY];
    CHECK(raw_call(SYS_write, fd, (long)message, HEADER, 0, 0) == HEADER);
    CHECK(raw_call(SYS_write, fd, (long)(message + HEADER), BODY, 0, 0) == BODY);
    for (long got = 0; got < REPLY;) {
        long n = raw_call(SYS_read, fd, (long)(reply + got), REPLY - got, 0, 0);
        CHECK(n > 0);
        got += n;
    }
}

int main(int argc, char **argv) {
    client_t client = client_arguments(argc, argv);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    int off = 0, fd = (int)raw_call(SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0);
    CHECK(fd >= 0 && raw_call(SYS_connect, fd, (long)&peer, sizeof peer, 0, 0) == 0);
    CHECK(raw_call(SYS_setsockopt, fd, IPPROTO_TCP, TCP_NODELAY, (long)&off, sizeof off) == 0);
    run_exchanges(fd, client.count, exchange);
    ADD_FACT("\"nodelay\": %d", raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    return report();
}
