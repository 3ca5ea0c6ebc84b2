/* SPDX-License-Identifier: MIT
 *
 *     fault-client ADDRESS PORT [alone]
 *
 * A plain client, for test_faults.py: exchanges of header, body and answer, two
 * threads that write in turn, a child that goes on.  Of the calls that the test
 * makes fail (but for mmap and clone while it starts and makes its thread) it
 * makes none itself.  Alone it makes no child, and its own writes are no sendto(2) in `coalesce`.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEADER = 200, BODY = 100, REPLY = 200, EXCHANGES = 16, MARK = 1000000001 };

static int fd;
static unsigned long sent;

static void put(size_t bytes) {
    static const char signs[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char piece[HEADER];
    for (size_t i = 0; i < bytes; i++, sent++)
        piece[i] = signs[(sent * 7 + (sent >> 6) * 13) % (sizeof(signs) - 1)];
    if (write(fd, piece, bytes) != (ssize_t)bytes) {
        perror("write");
        exit(3);
    }
}

static void exchange(int number) {
    char reply[REPLY];
    size_t got = 0;
    put(HEADER);
    if (number % 4 == 3) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        poll(&ready, 1, 1);
    }
    put(BODY);
    while (got < REPLY) {
        ssize_t n = recv(fd, reply + got, REPLY - got, 0);
        if (n <= 0) {
            perror("recv");
            exit(4);
        }
        got += (size_t)n;
    }
}

int main(int count, char **words) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    if (count < 3)
        return 2;
    address.sin_port = htons((unsigned short)atoi(words[2]));
    inet_pton(AF_INET, words[1], &address.sin_addr);
    char *buffer = malloc(100); /* libc's own first call */
    setvbuf(stdout, buffer, _IOFBF, 100);
    getsid(MARK); /* earlier calls are the dynamic linker's and libc's */
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        perror("connect");
        return 3;
    }
    for (int i = 1; i < EXCHANGES; i++)
        exchange(i);
    poll(NULL, 0, 200); /* the window's thread goes to rest */
    exchange(0);
    bool alone = count > 3;
    pid_t child = alone ? 0 : fork();
    if (child == 0) {
        for (int i = 0; i < 2; i++)
            exchange(i);
        if (!alone)
            _exit(0);
    }
    int status = alone ? 0 : -1;
    if (!alone) {
        waitpid(child, &status, 0);
        sent += 2 * (HEADER + BODY);
    }
    for (int i = 0; i < 4; i++)
        exchange(i);
    put(50); /* held at the end */
    printf("%d exchanges, child %d\n", EXCHANGES + 4, status);
    return 0;
}
