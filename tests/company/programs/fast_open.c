/* SPDX-License-Identifier: MIT
 *
 * TCP Fast Open (tcp(7)): the first write leaves with the SYN. argv[5]: `sendto` with MSG_FASTOPEN, or
 * `option`, TCP_FASTOPEN_CONNECT and a plain write. Reports whether the SYN's data was taken, and the results
 * of the calls.
 */
#include "client.h"

static int open_fast(client_t client, const char *how) {
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    CHECK(fd >= 0);
    next_message(0);
    if (strcmp(how, "sendto") == 0) {
        CHECK(sendto(fd, message, HEADER, MSG_FASTOPEN, (struct sockaddr *)&peer, sizeof peer) == HEADER);
    } else {
        CHECK(setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on) == 0);
        CHECK(connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0);
        CHECK(write(fd, message, HEADER) == HEADER);
    }
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    return fd;
}

static bool syn_data_was_taken(int fd) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0);
    return info.tcpi_options & TCPI_OPT_SYN_DATA;
}

int main(int argc, char **argv) {
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    int fd = open_fast(client, argv[5]);
    ADD_FACT("\"fast\": %s", syn_data_was_taken(fd) ? "true" : "false");
    run_exchanges_from(1, fd, client.count - 1, two_writes);
    close(fd);
    return report();
}
