/* SPDX-License-Identifier: MIT
 *
 * Exchanges by a thread with the smallest stack that there can be, with a select between header and body.
 */
#include "client.h"
#include <limits.h>
#include <sys/select.h>

static client_t client;

static void exchange(int fd)
{
    fd_set room;
    struct timeval second = {.tv_sec = 1};
    FD_ZERO(&room);
    FD_SET(fd, &room);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(select(fd + 1, NULL, &room, NULL, &second) == 1);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

static void *work(void *unused)
{
    int fd = connect_to(client);
    run_exchanges(fd, client.count, exchange);
    close(fd);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_attr_t small;
    pthread_t thread;
    client = client_arguments(argc, argv);
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 16384) == 0);
    CHECK(pthread_create(&thread, &small, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    return report();
}
