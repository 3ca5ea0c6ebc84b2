/* SPDX-License-Identifier: MIT
 *
 * The connection becomes descriptor 1, which is stdio's: write(2), through either
 * number, and stdout take turns.  Fifth argument: how it becomes that.
 */
#include "client.h"

static int socket_number;

/* Of each message stdio writes the second half, which no library sees. */
static void exchange(int fd)
{
    static int count;
    CHECK(write(count++ % 2 ? fd : socket_number, message, HEADER) == HEADER);
    CHECK(fwrite(message + HEADER, 1, BODY, stdout) == BODY && fflush(stdout) == 0);
    read_reply(socket_number);
}

/* The peer is this process's own, and gives the connection back to its other end. */
static int accepted_as_1(client_t client, bool unseen)
{
    struct sockaddr_in here;
    int listener = listen_here(&here), far = connect_to(client);
    int near = connect_unseen((client_t){"127.0.0.1", ntohs(here.sin_port), 0, 0});
    close(1);
    CHECK((unseen ? raw_call(SYS_accept4, listener, 0, 0, 0, 0) : accept(listener, NULL, NULL)) == 1);
    pid_t relay = (pid_t)raw_call(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (relay != 0) return 1;
    struct pollfd ends[2] = {{.fd = near, .events = POLLIN}, {.fd = far, .events = POLLIN}};
    raw_call(SYS_close, 1, 0, 0, 0, 0);
    for (;;) {
        char bytes[4096];
        raw_call(SYS_ppoll, (long)ends, 2, 0, 0, 8);
        for (int i = 0; i < 2; i++) {
            if (!ends[i].revents) continue;
            long n = raw_call(SYS_read, ends[i].fd, (long)bytes, sizeof bytes, 0, 0);
            if (n <= 0) raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
            int one = 1;
            raw_call(SYS_setsockopt, ends[1 - i].fd, IPPROTO_TCP, TCP_NODELAY, (long)&one, sizeof one);
            raw_call(SYS_write, ends[1 - i].fd, (long)bytes, n, 0, 0);
        }
    }
}

static int becomes_1(client_t client, const char *how)
{
    if (strncmp(how, "accept", 6) == 0) return accepted_as_1(client, strcmp(how, "accept unseen") == 0);
    if (strcmp(how, "socket") == 0) {
        close(1);
        return connect_to(client);
    }
    int fd = connect_to(client);
    if (strcmp(how, "dup2") == 0) CHECK(dup2(fd, 1) == 1);
    if (strcmp(how, "dup3") == 0) CHECK(dup3(fd, 1, 0) == 1);
    if (strcmp(how, "dup") == 0) CHECK(close(1) == 0 && dup(fd) == 1);
    if (strcmp(how, "fcntl") == 0) CHECK(close(1) == 0 && fcntl(fd, F_DUPFD, 1) == 1);
    return fd;
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    int before = fcntl(1, F_DUPFD_CLOEXEC, 100);
    socket_number = becomes_1(client, argv[5]);
    run_exchanges(1, client.count, exchange);
    int nodelay = option_of(1, TCP_NODELAY);
    if (socket_number != 1) close(socket_number);
    CHECK(dup2(before, 1) == 1);
    ADD_FACT("\"nodelay\": %d", nodelay);
    return report();
}
