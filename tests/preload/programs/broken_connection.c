/* SPDX-License-Identifier: MIT
 *
 * The peer resets the connection: the errors and signals that the writes, reads and SO_ERROR give, in lines
 * that must equal a bare run's.
 */
#include "client.h"

static volatile sig_atomic_t signals;

static void on_pipe(int number)
{
    (void)number;
    signals++;
}

static void show(const char *what, ssize_t result)
{
    int error = errno;
    printf("%s: %zd %s, SIGPIPE %d\n", what, result, result < 0 ? strerror(error) : "", (int)signals);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_pipe};
    struct linger reset = {1, 0};
    struct sockaddr_in here;
    const char *first = argc > 1 ? argv[1] : "write";
    char data[100] = {0};
    sigaction(SIGPIPE, &action, NULL);
    int listener = listen_here(&here), fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr *)&here, sizeof here) == 0);
    int peer = accept(listener, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        CHECK(write(fd, data, 60) == 60 && write(fd, data, 40) == 40);
        CHECK(recv(peer, data, 100, MSG_WAITALL) == 100);
        CHECK(write(peer, data, 1) == 1 && read(fd, data, 1) == 1);
    }
    CHECK(setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
    close(peer);
    await_error(fd, true);
    if (strcmp(first, "write") == 0) show("write", write(fd, data, 60));
    if (strcmp(first, "send") == 0) show("send", send(fd, data, 60, MSG_NOSIGNAL));
    if (strcmp(first, "read") == 0) show("read", read(fd, data, 60));
    if (strcmp(first, "option") == 0) {
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
        printf("SO_ERROR: %s\n", strerror(error));
    }
    show("write", write(fd, data, 60));
    show("write", write(fd, data, 40));
    show("send", send(fd, data, 40, MSG_NOSIGNAL));
    show("read", read(fd, data, 40));
    show("write", write(fd, data, 0));
    show("shutdown", shutdown(fd, SHUT_WR));
    show("close", close(fd));
    return report();
}
