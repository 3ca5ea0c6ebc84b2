/* SPDX-License-Identifier: MIT
 *
 * A service started by socket activation (sd_listen_fds(3)): descriptor 3 is the listener, or with
 * `connection` the connection itself. Answers each request of 50 bytes in two writes. `unseen`: the
 * connection, and it is read by raw system calls, which no library sees.
 */
#include "client.h"

static bool unseen;

static bool request_comes(int fd) {
    char request[50];
    if (unseen) return raw_call(SYS_read, fd, (long)request, sizeof request, 0, 0) == sizeof request;
    return recv(fd, request, sizeof request, MSG_WAITALL) == sizeof request;
}

int main(int argc, char **argv) {
    CHECK(getenv("LISTEN_FDS") && strcmp(getenv("LISTEN_FDS"), "1") == 0);
    unseen = argc > 1 && strcmp(argv[1], "unseen") == 0;
    bool listener = argc > 1 && strcmp(argv[1], "listener") == 0;
    int fd = !listener ? 3 : accept4(3, NULL, NULL, SOCK_CLOEXEC);
    CHECK(fd >= 0);
    printf("%s\n", library_is_loaded() ? "loaded" : "bare");
    fflush(stdout);
    for (int i = 0; request_comes(fd); i++) {
        next_message(i);
        write_message(fd);
    }
    return 0;
}
