/* SPDX-License-Identifier: MIT
 *
 * A non-blocking socket, small writes until EAGAIN, then an edge-triggered wait for
 * room: an EAGAIN that the kernel did not give would hang here for ever.
 */
#include "client.h"
#include <sys/epoll.h>

enum { TOTAL = 3000000 };

int main(int argc, char **argv)
{
    static char data[TOTAL];
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), ring = epoll_create1(0), full = 0, small = 8192;
    struct epoll_event event = {.events = EPOLLOUT | EPOLLET};
    fill(data, sizeof data, 0);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    CHECK(epoll_ctl(ring, EPOLL_CTL_ADD, fd, &event) == 0);
    for (size_t at = 0; at < TOTAL;) {
        size_t length = 100 + at % 977;
        if (length > TOTAL - at) length = TOTAL - at;
        ssize_t n = write(fd, data + at, length);
        if (n > 0) {
            at += (size_t)n;
            continue;
        }
        CHECK(n < 0 && errno == EAGAIN);
        full++;
        CHECK(epoll_wait(ring, &event, 1, 10000) == 1);
    }
    shutdown(fd, SHUT_WR);
    ADD_FACT("\"full\": %d", full);
    close(fd);
    return report();
}
