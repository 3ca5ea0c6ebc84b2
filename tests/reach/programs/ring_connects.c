/* SPDX-License-Identifier: MIT
 *
 * A client that makes, writes and reads its connection by an io_uring: only socket(2) is a call.
 *
 * ADDRESS PORT EXCHANGES HOW: `before` makes the socket before the ring, `after` behind it.
 */
#include "../../preload/programs/client.h"
#include <liburing.h>

static struct io_uring ring;

static int outcome(void) {
    struct io_uring_cqe *done;
    CHECK(io_uring_submit(&ring) == 1 && io_uring_wait_cqe(&ring, &done) == 0);
    int result = done->res;
    io_uring_cqe_seen(&ring, done);
    return result;
}

static void exchange(int fd) {
    char reply[REPLY];
    io_uring_prep_send(io_uring_get_sqe(&ring), fd, message, HEADER, 0);
    CHECK(outcome() == HEADER);
    io_uring_prep_send(io_uring_get_sqe(&ring), fd, message + HEADER, BODY, 0);
    CHECK(outcome() == BODY);
    for (int got = 0; got < REPLY;) {
        io_uring_prep_recv(io_uring_get_sqe(&ring), fd, reply + got, (unsigned)(REPLY - got), 0);
        int n = outcome();
        CHECK(n > 0);
        got += n;
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 5);
    client_t client = client_arguments(4, argv);
    bool before = strcmp(argv[4], "before") == 0;
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    int fd = before ? socket(AF_INET, SOCK_STREAM, 0) : -1;
    CHECK(io_uring_queue_init(8, &ring, 0) == 0);
    if (!before) fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && (fcntl(fd, F_GETFD) == FD_CLOEXEC) == !before);
    io_uring_prep_connect(io_uring_get_sqe(&ring), fd, (struct sockaddr *)&peer, sizeof peer);
    CHECK(outcome() == 0);
    run_exchanges(fd, client.count, exchange);
    ADD_FACT("\"nodelay\": %d", raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    return report();
}
