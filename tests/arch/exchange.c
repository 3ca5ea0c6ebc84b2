/* SPDX-License-Identifier: MIT
 *
 * A client and its server in one program, for any architecture.  The client sends each message as header and
 * body, in two writes, and waits for the answer: without the library each exchange stalls.
 *
 *   exchange    prints: the median of the exchanges in ms, the longest, and the client's TCP_NODELAY as the
 *               kernel has it (by a raw call), 0 or 1, in one line
 *
 * Ends with 1 if a byte was lost or came twice.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/preload/sys/machine.h"

enum { HEADER = 200, BODY = 100, EXCHANGES = 15, SEED = 7 };

static unsigned char byte_at(int i) {
    return (unsigned char)(i * SEED + 3);
}

static void must(int good, const char *what) {
    if (good)
        return;
    perror(what);
    _exit(1);
}

static void serve(int listener) {
    unsigned char bytes[HEADER + BODY];
    int fd = accept(listener, NULL, NULL);
    must(fd >= 0, "accept");
    for (int n = 0; n < EXCHANGES; n++) {
        for (size_t got = 0; got < sizeof bytes;) {
            ssize_t more = read(fd, bytes + got, sizeof bytes - got);
            must(more > 0, "server: read");
            got += (size_t)more;
        }
        for (int i = 0; i < HEADER + BODY; i++)
            must(bytes[i] == byte_at(n + i), "server: another byte");
        must(write(fd, bytes, 1) == 1, "server: write");
    }
    must(read(fd, bytes, 1) == 0, "server: more than was sent");
    _exit(0);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double exchange(int fd, int n) {
    unsigned char bytes[HEADER + BODY], answer;
    for (int i = 0; i < HEADER + BODY; i++)
        bytes[i] = byte_at(n + i);
    double began = now_ms();
    must(write(fd, bytes, HEADER) == HEADER, "write");
    must(write(fd, bytes + HEADER, BODY) == BODY, "write");
    must(read(fd, &answer, 1) == 1 && answer == bytes[0], "read");
    return now_ms() - began;
}

static int by_size(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int main(void) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof here;
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd, status, option = -1;
    must(bind(listener, (struct sockaddr *)&here, length) == 0 && listen(listener, 1) == 0, "listen");
    must(getsockname(listener, (struct sockaddr *)&here, &length) == 0, "getsockname");
    alarm(60);
    pid_t server = fork();
    must(server >= 0, "fork");
    if (server == 0)
        serve(listener);
    close(listener);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(fd, (struct sockaddr *)&here, sizeof here) == 0, "connect");
    double ms[EXCHANGES];
    for (int n = 0; n < EXCHANGES; n++)
        ms[n] = exchange(fd, n);
    length = sizeof option;
    raw6(SYS_getsockopt, fd, IPPROTO_TCP, TCP_NODELAY, (long)&option, (long)&length, 0);
    close(fd);
    must(waitpid(server, &status, 0) == server && status == 0, "the server's end");
    qsort(ms, EXCHANGES, sizeof *ms, by_size);
    printf("%.2f %.2f %d\n", ms[EXCHANGES / 2], ms[EXCHANGES - 1], option);
    return 0;
}
