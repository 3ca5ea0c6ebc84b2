/* SPDX-License-Identifier: MIT
 *
 * The C library writes to a connection beneath our sight.
 */

#ifndef PROGRAM
#define PROGRAM stdio_on_socket
#endif
#include "session.h"

/* The writing FILE owns the socket's own descriptor, reads pass by read(). */
static FILE *out;

static void of_owner(int fd) {
    CHECK(fwrite(message, 1, HEADER, out) == HEADER && fflush(out) == 0);
    CHECK(fwrite(message + HEADER, 1, BODY, out) == BODY && fflush(out) == 0);
    read_reply(fd);
}

static void stdio_on_socket(void) {
    mark(BEGIN);
    int fd = connect_to(client);
    CHECK((out = fdopen(fd, "w")) != NULL);
    run_exchanges(fd, client.count, of_owner);
    fclose(out);
    mark(END);
}

/* A FILE for each direction, each on a dup of the connection. */
static FILE *in;

static void of_two_files(int fd) {
    char line[REPLY + 2];
    (void)fd;
    CHECK(fprintf(out, "%.*s", HEADER, message) == HEADER && fflush(out) == 0);
    CHECK(fprintf(out, "%.*s", BODY, message + HEADER) == BODY && fflush(out) == 0);
    CHECK(fgets(line, sizeof line, in) && strlen(line) == REPLY);
}

static void stdio_two_files(void) {
    mark(BEGIN);
    int fd = connect_to(client);
    CHECK((in = fdopen(dup(fd), "r")) != NULL);
    CHECK((out = fdopen(dup(fd), "w")) != NULL);
    run_exchanges(fd, client.count, of_two_files);
    fclose(in);
    fclose(out);
    close(fd);
    mark(END);
}

/* Exchanges by write() first, and then, in the middle of a message, a FILE takes a dup. */
static void joined_late(int fd) {
    CHECK(write(fd, message, HEADER) == HEADER);
    if (out == NULL) CHECK((out = fdopen(dup(fd), "w")) != NULL);
    CHECK(fwrite(message + HEADER, 1, BODY, out) == BODY && fflush(out) == 0);
    read_reply(fd);
}

static void stdio_late(void) {
    mark(BEGIN);
    int fd = connect_to(client);
    exchange_all(fd, 0, 3);
    run_exchanges_from(3, fd, client.count - 3, joined_late);
    fclose(out);
    close(fd);
    mark(END);
}

/* write, then a FILE on the same descriptor; its fclose flushes and closes it; then the number is
 * reused as a file. */
static void stdio_fclose(void) {
    mark(BEGIN);
    int fd = connect_to(client);
    exchange_all(fd, 0, 3);
    next_message(3);
    CHECK(write(fd, message, 50) == 50);
    CHECK(write(fd, message + 50, HEADER - 50) == HEADER - 50);
    FILE *out = fdopen(fd, "w");
    CHECK(out && fwrite(message + HEADER, 1, BODY, out) == BODY);
    CHECK(fclose(out) == 0);
    mark(0);
    CHECK(memfd_create("file", 0) == fd);
    write_message(fd);
    char data[2 * sizeof message];
    CHECK(pread(fd, data, sizeof data, 0) == HEADER + BODY);
    CHECK(memcmp(data, message, sizeof message) == 0);
    mark(END);
}

/* The connection becomes descriptor 1, which is stdio's: write(2), through either
 * number, and stdout take turns.  Fifth argument: how it becomes that. */
static int socket_number;

/* Of each message stdio writes the second half, which no library sees. */
static void in_turns(int fd) {
    static int count;
    CHECK(write(count++ % 2 ? fd : socket_number, message, HEADER) == HEADER);
    CHECK(fwrite(message + HEADER, 1, BODY, stdout) == BODY && fflush(stdout) == 0);
    read_reply(socket_number);
}

/* The peer is this process's own, and gives the connection back to its other end. */
static int accepted_as_1(client_t client, bool unseen) {
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

static int becomes_1(client_t client, const char *how) {
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

static void stdio_by_number(void) {
    int before = fcntl(1, F_DUPFD_CLOEXEC, 100);
    socket_number = becomes_1(client, how);
    run_exchanges(1, client.count, in_turns);
    int nodelay = option_of(1, TCP_NODELAY);
    if (socket_number != 1) close(socket_number);
    CHECK(dup2(before, 1) == 1);
    ADD_FACT("\"nodelay\": %d", nodelay);
}
