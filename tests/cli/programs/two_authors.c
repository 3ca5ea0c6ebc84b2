/* SPDX-License-Identifier: MIT
 *
 * two_authors ADDRESS PORT EXCHANGES [wait]: a client in which two functions write header and body; the
 * report must name both, with their lines.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char bytes[512];

__attribute__((noinline)) void put(int fd, size_t n) {
    if (send(fd, bytes, n, 0) != (ssize_t)n)
        exit(3);
    __asm__ volatile("");
}

__attribute__((noinline)) void send_header(int fd) {
    ssize_t n = send(fd, bytes, 200, 0); /* LINE header */
    if (n != 200)
        exit(3);
}

__attribute__((noinline)) void send_body(int fd) {
    ssize_t n = write(fd, bytes, 100); /* LINE body */
    if (n != 100)
        exit(3);
}

__attribute__((noinline)) void wrapped_header(int fd) {
    put(fd, 200); /* LINE wrapped header */
    __asm__ volatile("");
}

__attribute__((noinline)) void wrapped_body(int fd) {
    put(fd, 100); /* LINE wrapped body */
    __asm__ volatile("");
}

int main(int argc, char **argv) {
    struct sockaddr_in to = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (argc < 4)
        return 2;
    inet_pton(AF_INET, argv[1], &to.sin_addr);
    to.sin_port = htons((uint16_t)atoi(argv[2]));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        return 1;
    int wrapped = argc > 4 && strcmp(argv[4], "wrapped") == 0;
    for (int i = 0; i < atoi(argv[3]); i++) {
        if (wrapped) {
            wrapped_header(fd);
            wrapped_body(fd);
        } else {
            send_header(fd);
            send_body(fd);
        }
        for (ssize_t got = 0, n; got < 200; got += n)
            if ((n = recv(fd, bytes, (size_t)(200 - got), 0)) <= 0)
                return 1;
    }
    puts("done");
    fflush(stdout);
    if (argc > 4 && strcmp(argv[4], "wait") == 0)
        (void)!read(0, bytes, 1);
    return 0;
}
