/* SPDX-License-Identifier: MIT
 *
 * What an accepted connection reads back when its listener had the option set
 * before the handshake, after it, or never.  Both ends live here.
 */
#include "client.h"

static void show(const char *when, int fd)
{
    int nodelay = -1, cork = -1;
    socklen_t length = sizeof nodelay;
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &length) == 0);
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_CORK, &cork, &length) == 0);
    printf("%s: nodelay %d cork %d\n", when, nodelay, cork);
}

static void try_option(const char *when, int name, bool before)
{
    static const int one = 1, zero;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (name && before) CHECK(setsockopt(listener, IPPROTO_TCP, name, &one, sizeof one) == 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(listener, 8) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
    if (name && !before) CHECK(setsockopt(listener, IPPROTO_TCP, name, &one, sizeof one) == 0);
    int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(accepted >= 0);
    show(when, accepted);
    show("its listener", listener);
    for (int i = 0; i < 4; i++) {
        char data[HEADER + BODY];
        CHECK(write(accepted, message, HEADER) == HEADER);
        CHECK(write(accepted, message + HEADER, BODY) == BODY);
        if (name == TCP_CORK && before) CHECK(setsockopt(accepted, IPPROTO_TCP, TCP_CORK, &zero, 4) == 0);
        CHECK(recv(client, data, sizeof data, MSG_WAITALL) == (ssize_t)sizeof data);
        CHECK(write(client, data, 1) == 1 && read(accepted, data, 1) == 1);
    }
    show("after bursts", accepted);
    close(client);
    close(accepted);
    close(listener);
}

int main(void)
{
    try_option("never set", 0, false);
    try_option("nodelay before the handshake", TCP_NODELAY, true);
    try_option("nodelay after the handshake", TCP_NODELAY, false);
    try_option("cork before the handshake", TCP_CORK, true);
    try_option("cork after the handshake", TCP_CORK, false);
    return report();
}
