/* SPDX-License-Identifier: MIT
 *
 * two_endpoints ADDRESS PORT ADDRESS PORT [shared]: a client of two servers for ever, with two functions that
 * send in two pieces, one for each server; "shared": with the first function for both.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static char bytes[512];

static int client_of(char **words) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1]))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, words[0], &to.sin_addr);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        exit(1);
    return fd;
}

static void receive(int fd) {
    for (ssize_t got = 0, n; got < 200; got += n)
        if ((n = recv(fd, bytes, (size_t)(200 - got), 0)) <= 0)
            exit(1);
}

__attribute__((noinline)) void ask_first(int fd) {
    if (send(fd, bytes, 200, 0) != 200 || send(fd, bytes, 100, 0) != 100)
        exit(3);
}

__attribute__((noinline)) void ask_second(int fd) {
    if (write(fd, bytes, 150) != 150 || write(fd, bytes, 150) != 150)
        exit(3);
}

int main(int argc, char **argv) {
    if (argc < 5)
        return 2;
    int first = client_of(argv + 1), second = client_of(argv + 3);
    for (;;) {
        ask_first(first);
        receive(first);
        if (argc > 5)
            ask_first(second);
        else
            ask_second(second);
        receive(second);
    }
}
