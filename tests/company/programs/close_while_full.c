/* SPDX-License-Identifier: MIT
 *
 * Fills a socket with a silent reader until it takes no more, small writes included, and closes it while no
 * descriptor is to be had: accepted bytes must arrive.  Prints how many bytes that is before it closes: only
 * then may the peer read, or the socket would never be full.
 */
#include "client.h"

static size_t accepted;

static bool put(int fd, size_t length) {
    static char bytes[1 << 16];
    fill(bytes, length, accepted);
    ssize_t sent = send(fd, bytes, length, MSG_DONTWAIT);
    CHECK(sent > 0 || errno == EAGAIN);
    if (sent > 0) accepted += (size_t)sent;
    return sent > 0;
}

int main(int argc, char **argv) {
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    while (put(fd, 1 << 16)) continue;
    for (int i = 0; i < 50; i++) put(fd, 100);
    int next = open("/dev/null", O_RDONLY);
    CHECK(next >= 0 && close(next) == 0);
    CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next, (rlim_t)next}) == 0);
    printf("%zu\n", accepted);
    fflush(stdout);
    CHECK(close(fd) == 0);
    return 0;
}
