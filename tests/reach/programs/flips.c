/* SPDX-License-Identifier: MIT
 *
 * A thread flips the memory behind a pointer of a call, while another thread makes the call many times.
 *
 * flips TRIES connect | flips TRIES setsockopt
 *
 * `connect`: the address has one port or another; both listen.  Prints the number of connections by each
 * port, of connections with another port just before the call, and of connections with TCP_NODELAY.
 * `setsockopt`: the value of TCP_NODELAY is 0 or 1.  Prints how many sockets have 0, and how many 1.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address = {.sin_family = AF_INET};
static in_port_t ports[2];
static int value;
static volatile bool stop;

static void need(bool done, const char *what) {
    if (done)
        return;
    perror(what);
    exit(1);
}

static void *flip(void *nothing) {
    for (unsigned i = 0; !stop; i++) {
        __atomic_store_n(&address.sin_port, ports[i % 2], __ATOMIC_RELAXED);
        __atomic_store_n(&value, i % 2, __ATOMIC_RELAXED);
    }
    return nothing;
}

static int listening(in_port_t *port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    need(bind(fd, (struct sockaddr *)&a, size) == 0 && listen(fd, 8) == 0 &&
             getsockname(fd, (struct sockaddr *)&a, &size) == 0,
         "listen");
    *port = a.sin_port;
    return fd;
}

static int nodelay(int fd) {
    int read_back = -1;
    socklen_t size = sizeof(read_back);
    getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &read_back, &size);
    return read_back;
}

static void connect_many(int tries, const int listeners[2]) {
    int by_port[2] = {0}, flipped = 0, cured = 0;
    for (int i = 0; i < tries; i++) {
        struct sockaddr_in peer;
        socklen_t size = sizeof(peer);
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        in_port_t before = __atomic_load_n(&address.sin_port, __ATOMIC_RELAXED);
        need(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                 getpeername(fd, (struct sockaddr *)&peer, &size) == 0,
             "connect");
        int which = peer.sin_port == ports[1];
        int accepted = accept(listeners[which], NULL, NULL);
        need(accepted >= 0, "accept");
        by_port[which]++;
        flipped += peer.sin_port != before;
        cured += nodelay(fd) == 1;
        close(accepted);
        close(fd);
    }
    printf("%d %d %d %d\n", by_port[0], by_port[1], flipped, cured);
}

static void set_many(int tries) {
    int with[2] = {0};
    for (int i = 0; i < tries; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        need(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value)) == 0, "setsockopt");
        with[nodelay(fd) == 1]++;
        close(fd);
    }
    printf("%d %d\n", with[0], with[1]);
}

int main(int argc, char **argv) {
    int tries = argc > 1 ? atoi(argv[1]) : 0;
    const int listeners[2] = {listening(&ports[0]), listening(&ports[1])};
    pthread_t flipping;
    address.sin_port = ports[0];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    need(pthread_create(&flipping, NULL, flip, NULL) == 0, "pthread_create");
    if (argc > 2 && strcmp(argv[2], "connect") == 0)
        connect_many(tries, listeners);
    else
        set_many(tries);
    stop = true;
    pthread_join(flipping, NULL);
    return 0;
}
