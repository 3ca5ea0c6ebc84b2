/* SPDX-License-Identifier: MIT
 *
 * A connection to this process itself, and a script of what is done on it, a word a step.  The other end is
 * used by raw system calls alone, so what is counted is this end's.
 *
 *     w10     write ten bytes          r      the peer reads all, and its answer is read
 *     f10     the same, as two parts of a writev       p10    ten bytes of the peer's are read
 *     P10     the peer sends ten bytes                 g10    ten bytes are read
 *     s60     60 ms pass, unseen       q1 q0  the peer acknowledges at once, or late
 *     k1 k0   TCP_CORK                 n1 n0  TCP_NODELAY
 *     c       it is closed, and another one connected
 *     U       the same by calls that no library sees, and 50 bytes, too
 *     o3      write ten bytes, from place 3 of the program
 *     F _ C   fork, _Fork or clone(2) unseen: the child alone goes on
 *     x E     another program runs, or replaces this one
 */
#include "client.h"

static int peer;
static long waiting; /* bytes that the peer has not read */

static int connected(bool seen) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = (int)raw3(SYS_socket, AF_INET, SOCK_STREAM, 0), fd;
    fd = seen ? socket(AF_INET, SOCK_STREAM, 0) : (int)raw3(SYS_socket, AF_INET, SOCK_STREAM, 0);
    CHECK(raw3(SYS_bind, listener, &address, length) == 0 && raw2(SYS_listen, listener, 1) == 0);
    CHECK(raw3(SYS_getsockname, listener, &address, &length) == 0);
    CHECK((seen ? connect(fd, (struct sockaddr *)&address, length)
                : raw3(SYS_connect, fd, &address, length)) == 0);
    peer = (int)raw4(SYS_accept4, listener, 0, 0, 0);
    CHECK(peer >= 0 && raw1(SYS_close, listener) == 0);
    return fd;
}

static void set(int fd, int option, int value) {
    if (fd == peer) CHECK(raw6(SYS_setsockopt, fd, IPPROTO_TCP, option, (long)&value, sizeof value, 0) == 0);
    else CHECK(setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value) == 0);
}

static void peer_reads(void) {
    char bytes[4096];
    while (waiting > 0) {
        long n = raw3(SYS_read, peer, bytes, sizeof bytes);
        CHECK(n > 0);
        waiting -= n;
    }
}

static void peer_sends(long n) {
    char bytes[4096] = "";
    CHECK(raw3(SYS_write, peer, bytes, n) == n);
}

static void get(int fd, long n) {
    char bytes[4096];
    CHECK(read(fd, bytes, (size_t)n) == n);
}

#define PLACE(number)                                                                              \
    static void place##number(int fd)                                                              \
    {                                                                                              \
        CHECK(write(fd, "of a place", 10) == 10);                                                  \
    }
PLACE(0) PLACE(1) PLACE(2) PLACE(3) PLACE(4) PLACE(5) PLACE(6) PLACE(7) PLACE(8) PLACE(9) PLACE(10)
static void (*const places[])(int) = {place0, place1, place2, place3, place4, place5,
                                      place6, place7, place8, place9, place10};

static void step(int *fd, const char *word) {
    char bytes[4096] = "";
    long n = atol(word + 1);
    struct iovec parts[] = {{bytes, (size_t)n / 2}, {bytes, (size_t)(n - n / 2)}};
    struct timespec time = {.tv_nsec = n * 1000000};
    switch (word[0]) {
    case 'w': CHECK(write(*fd, bytes, (size_t)n) == n); waiting += n; break;
    case 'f': CHECK(writev(*fd, parts, 2) == n); waiting += n; break;
    case 'r': peer_reads(); peer_sends(100); get(*fd, 100); break;
    case 'p': peer_sends(n); get(*fd, n); break;
    case 'P': peer_sends(n); break;
    case 'g': get(*fd, n); break;
    case 's': raw2(SYS_nanosleep, &time, NULL); break;
    case 'q': set(peer, TCP_QUICKACK, (int)n); break;
    case 'k': set(*fd, TCP_CORK, (int)n); break;
    case 'n': set(*fd, TCP_NODELAY, (int)n); break;
    case 'c': close(*fd); raw1(SYS_close, peer); waiting = 0; *fd = connected(true); break;
    case 'U':
        *fd = connected(false);
        CHECK(raw3(SYS_write, *fd, bytes, 50) == 50);
        waiting = 50;
        break;
    case 'o': places[n](*fd); waiting += 10; break;
    case 'x': CHECK(system("true") == 0); break;
    case 'E':
        execl("/nowhere/true", "true", NULL); /* as a search of PATH */
        execl("/bin/true", "true", NULL);
        die("exec");
    case 'F':
    case '_':
    case 'C':
        if ((*word == 'F' ? fork() : *word == '_' ? _Fork() : raw_fork()) == 0) break;
        wait(NULL);
        exit(0);
    default: die(word);
    }
}

/* How many statistics files are mapped. */
static int files(void) {
    static char maps[1 << 16];
    int count = 0, fd = (int)raw4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY, 0);
    for (long n, at = 0; (n = raw3(SYS_read, fd, maps + at, sizeof maps - 1 - at)) > 0;) at += n;
    for (const char *at = maps; (at = strstr(at, ".unstall")); at++) count++;
    raw1(SYS_close, fd);
    return count;
}

int main(int argc, char **argv) {
    int fd = connected(true);
    for (int i = 1; i < argc; i++) step(&fd, argv[i]);
    ADD_FACT("\"nodelay\": %d, \"mapped\": %d", raw_option(fd, IPPROTO_TCP, TCP_NODELAY), files());
    close(fd);
    return report();
}
