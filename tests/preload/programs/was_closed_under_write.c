/* SPDX-License-Identifier: MIT
 *
 * A thread is blocked in a write when its connection is closed. The exchanges are those of the next
 * connection, which has the number of that one, and the library's place for it; before them the blocked write
 * fails.  The fact `failed`: its errno.
 */
#include "client.h"

static int old;

static void *writes(void *failed)
{
    ssize_t sent = write(old, message, 1);
    *(int *)failed = sent < 0 ? errno : 0;
    return NULL;
}

/* A connection to this process itself, whose end of the peer is `*peer`; no library sees that one. */
static int connect_to_self(int *peer)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof here;
    int listener = (int)raw_call(SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0);
    CHECK(raw_call(SYS_bind, listener, (long)&here, sizeof here, 0, 0) == 0);
    CHECK(raw_call(SYS_listen, listener, 1, 0, 0, 0) == 0);
    CHECK(raw_call(SYS_getsockname, listener, (long)&here, (long)&length, 0, 0) == 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&here, sizeof here) == 0);
    *peer = (int)raw_call(SYS_accept4, listener, 0, 0, 0, 0);
    CHECK(*peer >= 0); /* the listener stays: its number is lower */
    return fd;
}

int main(int argc, char **argv)
{
    static const struct linger reset = {.l_onoff = 1};
    static char much[1 << 16];
    client_t client = client_arguments(argc, argv);
    pthread_t thread;
    int peer, failed = 0;
    old = connect_to_self(&peer);
    do {
        while (send(old, much, sizeof much, MSG_DONTWAIT) > 0) {}
        await_settled(old);
    } while (send(old, much, sizeof much, MSG_DONTWAIT) > 0);
    CHECK(pthread_create(&thread, NULL, writes, &failed) == 0);
    usleep(50000); /* it is in the write */
    CHECK(close(old) == 0);
    int fd = connect_to(client);
    CHECK(fd == old);
    CHECK(raw_call(SYS_setsockopt, peer, SOL_SOCKET, SO_LINGER, (long)&reset, sizeof reset) == 0);
    CHECK(raw_call(SYS_close, peer, 0, 0, 0, 0) == 0);
    pthread_join(thread, NULL);
    run_exchanges(fd, client.count, two_writes);
    close(fd);
    ADD_FACT("\"failed\": %d", failed);
    return report();
}
