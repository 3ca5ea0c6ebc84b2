/* SPDX-License-Identifier: MIT
 *
 * The value that an accepted connection reads back when its listener had the option set before the handshake,
 * after it, only until then, or never, or had it when this program was started (systemd's NoDelay=).  Both
 * ends live here.
 */
#include "client.h"

static void show(const char *when, int fd) {
    printf("%s: nodelay %d cork %d\n", when, option_of(fd, TCP_NODELAY), option_of(fd, TCP_CORK));
}

enum when { BEFORE, AFTER, UNTIL };

static void set(int fd, int name, int value) {
    if (name) set_option(fd, name, value);
}

static int listener_with(int name) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    set(listener, name, 1);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(listener, 8) == 0);
    return listener;
}

static int client_of(int listener) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
    return client;
}

static void bursts(int accepted, int client, bool corked) {
    for (int i = 0; i < 4; i++) {
        char data[HEADER + BODY];
        write_message(accepted);
        if (corked) set(accepted, TCP_CORK, 0);
        CHECK(recv(client, data, sizeof data, MSG_WAITALL) == (ssize_t)sizeof data);
        CHECK(write(client, data, 1) == 1 && read(accepted, data, 1) == 1);
    }
    show("after bursts", accepted);
}

static void try_option(const char *what, int name, enum when when) {
    int listener = listener_with(when != AFTER ? name : 0), client = client_of(listener);
    if (when != BEFORE) set(listener, name, when == AFTER);
    int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(accepted >= 0);
    show(what, accepted);
    show("its listener", listener);
    bursts(accepted, client, name == TCP_CORK && when != AFTER);
    close(client);
    close(accepted);
    close(listener);
}

/* As a service that inherits listener `listener`; its own child inherits the connection. */
static void serve(int listener) {
    int client = client_of(listener), accepted = accept(listener, NULL, NULL);
    CHECK(accepted >= 0);
    show("of an inherited listener", accepted);
    bursts(accepted, client, false);
    printf("in the kernel: %d\n", raw_option(accepted, IPPROTO_TCP, TCP_NODELAY));
    fflush(stdout);
    char number[12];
    snprintf(number, sizeof number, "%d", accepted);
    execl("/proc/self/exe", "after-exec", number, NULL);
    die("exec");
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[0], "after-exec") == 0) {
        show("after exec", atoi(argv[1]));
        return report();
    }
    if (argc == 2) serve(atoi(argv[1]));
    try_option("never set", 0, BEFORE);
    try_option("nodelay before the handshake", TCP_NODELAY, BEFORE);
    try_option("nodelay after the handshake", TCP_NODELAY, AFTER);
    try_option("nodelay until the handshake", TCP_NODELAY, UNTIL);
    try_option("cork before the handshake", TCP_CORK, BEFORE);
    try_option("cork after the handshake", TCP_CORK, AFTER);
    try_option("cork until the handshake", TCP_CORK, UNTIL);
    return report();
}
