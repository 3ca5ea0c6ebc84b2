/* SPDX-License-Identifier: MIT
 *
 * The parts that the programs of the benchmark share: the message's form, time, segments.
 *
 * A message begins with four bytes: its own length and that of the answer that
 * it wants, two bytes each, in the machine's order (all ends are on one machine).
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 4, LARGEST = 65536 };

enum { REQUEST = 100 }; /* from load.c to server.c */

static inline void die(const char *what) {
    perror(what);
    exit(1);
}

static inline double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void head_of(char *at, unsigned length, unsigned answer) {
    uint16_t head[2] = {(uint16_t)length, (uint16_t)answer};
    memcpy(at, head, HEAD);
}

static inline void read_head(const char *at, unsigned *length, unsigned *answer) {
    uint16_t head[2];
    memcpy(head, at, HEAD);
    *length = head[0];
    *answer = head[1];
}

static inline void set_option(int fd, int name, int value) {
    if (setsockopt(fd, IPPROTO_TCP, name, &value, sizeof(value)) != 0)
        die("setsockopt");
}

static inline struct tcp_info info_of(int fd) {
    struct tcp_info info;
    socklen_t length = sizeof(info);
    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        die("TCP_INFO");
    return info;
}

static inline struct sockaddr_in address_of(const char *host, int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, host, &a.sin_addr) != 1)
        die(host);
    return a;
}

static inline int connected_to(const struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
        die("connect");
    return fd;
}

/* A listener on a free port of every address, and its port on the standard output. */
static inline int listen_and_say(int backlog) {
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t length = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(fd, (struct sockaddr *)&a, length) != 0 || listen(fd, backlog) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &length) != 0)
        die("listen");
    printf("%d\n", ntohs(a.sin_port));
    fflush(stdout);
    return fd;
}

/* A server of the benchmark ends with its parent. */
static inline void end_with_parent(void) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static inline void many_descriptors(void) {
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
        most.rlim_cur = most.rlim_max;
        setrlimit(RLIMIT_NOFILE, &most);
    }
}

static inline int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of `count` numbers, which it sorts. */
static inline double median(double *of, int count) {
    qsort(of, (size_t)count, sizeof(*of), by_value);
    return count % 2 ? of[count / 2] : (of[count / 2 - 1] + of[count / 2]) / 2;
}

#endif
