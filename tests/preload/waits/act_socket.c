/* SPDX-License-Identifier: MIT
 *
 * The life of sockets: connecting and accepting wait; a shutdown ends the sending side; options return the
 * application's values.
 */
#include "acts.h"

#include <netinet/tcp.h>

extern int other_connect(int, const struct sockaddr *, socklen_t) SYMBOL("__connect");

static int listener, waiting;
static struct sockaddr_in there;

static void nobody_connects(void) {
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || listen(listener, 1) < 0)
        fail("listen");
}

static void nobody_accepts(void) {
    uint16_t port;
    full_listener(&port);
    there = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    waiting = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (waiting < 0)
        fail("socket");
}

#define THERE (const struct sockaddr *)&there, sizeof there

ACT(connect, nobody_accepts, ALARM, connect(waiting, THERE))
ACT(__connect, nobody_accepts, ALARM, other_connect(waiting, THERE))
ACT(accept, nobody_connects, ALARM, accept(listener, NULL, NULL))
ACT(accept4, nobody_connects, ALARM, accept4(listener, NULL, NULL, SOCK_CLOEXEC))
ACT(shutdown, NULL, 0, shutdown(connection, SHUT_WR))

static int nodelay(int connection, int value) {
    return setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value);
}

static int nodelay_of(int connection) {
    int value = -1;
    getsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &value, &(socklen_t){sizeof value});
    return value;
}

/* an application that wants no delay is not made to hold */
ACT(setsockopt, NULL, UNHELD, (nodelay(connection, 1), hold_now(connection)))

/* the library has turned TCP_NODELAY on by then; the application has not */
ACT(getsockopt, NULL, 0, (poll(NULL, 0, 1), nodelay_of(connection)))

/* A stream's socket has TCP_NODELAY in the kernel, which an accepted connection would have as its own. */
static int listening_stream(void) {
    int value = -1, stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = sizeof value;
    if (!fdopen(stream, "r") || listen(stream, 1) < 0)
        fail("listen");
    raw6(SYS_getsockopt, stream, IPPROTO_TCP, TCP_NODELAY, (long)&value, (long)&length, 0);
    return value;
}

ACT(listen, NULL, 0, listening_stream())

/* its creation is seen: no query is needed */
ACT(socket, NULL, 0, poll(NULL, 0, WAIT_MS))
