/* SPDX-License-Identifier: MIT
 *
 * A client or a server that runs for long and stalls: writes two pieces of 100 bytes, reads 200
 * bytes, and again.  talker connect PORT | talker listen
 *
 * Prints "port PORT" where it listens, and a line for each exchange: its microseconds, and what
 * TCP_NODELAY reads back.  Lines on its standard input: "0" and "1" set TCP_NODELAY, "new" goes on
 * with a new connection.  RAW: its system calls are inline, so that a preload sees none; RING: an
 * io_uring makes its connections and sends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef PROTOCOL
#define PROTOCOL 0
#endif
enum { PIECE = 100, PAUSE_US = 2000 };

#ifdef RING
#include <liburing.h>

static struct io_uring ring;

static struct io_uring_sqe *next_call(void) {
    if (!ring.ring_fd && io_uring_queue_init(8, &ring, 0) != 0)
        exit(1);
    return io_uring_get_sqe(&ring);
}

static int call_made(void) {
    struct io_uring_cqe *done;
    if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &done) != 0)
        return -1;
    int result = done->res;
    io_uring_cqe_seen(&ring, done);
    return result;
}

static long put(int fd, const char *bytes, size_t count) {
    io_uring_prep_send(next_call(), fd, bytes, count, 0);
    return call_made();
}

static int new_socket(void) {
    io_uring_prep_socket(next_call(), AF_INET, SOCK_STREAM, 0, 0);
    return call_made();
}
#elif defined RAW
static long put(int fd, const char *bytes, size_t count) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_write), "D"((long)fd), "S"(bytes), "d"(count)
                     : "rcx", "r11", "memory");
    return result;
}
#else
static long put(int fd, const char *bytes, size_t count) {
    return write(fd, bytes, count);
}
#endif

#ifndef RING
static int new_socket(void) {
    return socket(AF_INET, SOCK_STREAM, PROTOCOL);
}
#endif

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int connection(int listener, int port) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((in_port_t)port),
                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = listener >= 0 ? accept(listener, NULL, NULL) : new_socket();
    if (fd < 0 || (listener < 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0))
        fail("connection");
    return fd;
}

static int listening(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, size) != 0 || listen(fd, 8) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &size) != 0)
        fail("listen");
    printf("port %d\n", ntohs(a.sin_port));
    fflush(stdout);
    return fd;
}

static void take(int fd, size_t count) {
    char bytes[2 * PIECE];
    for (ssize_t n; count > 0; count -= (size_t)n)
        if ((n = read(fd, bytes, count)) <= 0)
            exit(0);
}

static long now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void exchange(int fd) {
    static const char piece[PIECE];
    int nodelay = -1;
    socklen_t size = sizeof(nodelay);
    long begin = now_us();
    if (put(fd, piece, PIECE) != PIECE || put(fd, piece, PIECE) != PIECE)
        exit(0);
    take(fd, 2 * PIECE);
    long took = now_us() - begin;
    getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &size);
    printf("%ld %d\n", took, nodelay);
    fflush(stdout);
    usleep(PAUSE_US);
}

static int obey(int fd, int listener, int port) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char line[16] = "";
    if (poll(&input, 1, 0) <= 0)
        return fd;
    if (read(STDIN_FILENO, line, sizeof(line) - 1) <= 0)
        exit(0);
    if (strcmp(line, "new\n") == 0) {
        close(fd);
        return connection(listener, port);
    }
    int value = atoi(line);
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value)) != 0)
        fail("setsockopt");
    return fd;
}

int main(int argc, char **argv) {
    int port = argc > 2 ? atoi(argv[2]) : 0;
    int listener = port ? -1 : listening();
    int fd = connection(listener, port);
    for (long end = now_us() + 600000000L; now_us() < end;) {
        exchange(fd);
        fd = obey(fd, listener, port);
    }
    return 0;
}
