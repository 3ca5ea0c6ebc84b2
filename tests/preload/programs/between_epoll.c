/* SPDX-License-Identifier: MIT
 *
 * Goes through epoll_wait between header and body, as brokers do.
 */
#include "client.h"
#include <sys/epoll.h>

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    static int ring = -1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT};
    if (ring < 0) {
        CHECK((ring = epoll_create1(EPOLL_CLOEXEC)) >= 0);
        CHECK(epoll_ctl(ring, EPOLL_CTL_ADD, fd, &event) == 0);
    }
    CHECK(epoll_wait(ring, &event, 1, -1) == 1);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
