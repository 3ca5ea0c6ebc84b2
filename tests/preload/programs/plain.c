/* SPDX-License-Identifier: MIT
 *
 * Programs without the pattern, a function each.  harness.program() compiles the one that -DPROGRAM names.
 */

#include "client.h"

#ifndef PROGRAM
#define PROGRAM plain_pipe
#endif
#pragma GCC diagnostic ignored "-Wunused-function"

enum { ROUNDS = 8 };

static char data[HEADER + BODY];

/* Two writes and a read of a file, and of one written through stdio. */
static void plain_file(void) {
    int file = memfd_create("file", MFD_CLOEXEC);
    CHECK(file >= 0);
    for (int i = 0; i < ROUNDS; i++) {
        write_message(file);
        CHECK(pread(file, data, sizeof data, i * (off_t)sizeof data) == (ssize_t)sizeof data);
    }
    FILE *stream = fdopen(dup(file), "w");
    CHECK(stream && fprintf(stream, "text") == 4 && fclose(stream) == 0);
    close(file);
}

static void plain_pipe(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct pollfd ready = {.fd = ends[0], .events = POLLIN};
        write_message(ends[1]);
        CHECK(poll(&ready, 1, -1) == 1);
        CHECK(read(ends[0], data, sizeof data) == (ssize_t)sizeof data);
    }
    close(ends[0]);
    close(ends[1]);
}

/* Two datagrams and a read. */
static void plain_udp(void) {
    int ends[2];
    udp_pair(ends);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(write(ends[0], message, HEADER) == HEADER);
        CHECK(send(ends[0], message + HEADER, BODY, 0) == BODY);
        CHECK(read(ends[1], data, sizeof data) == HEADER);
        CHECK(recv(ends[1], data, sizeof data, 0) == BODY);
    }
    close(ends[0]);
    close(ends[1]);
}

static void plain_unix(void) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(write(ends[0], message, HEADER) == HEADER);
        CHECK(send(ends[0], message + HEADER, BODY, MSG_NOSIGNAL) == BODY);
        CHECK(recv(ends[1], data, sizeof data, MSG_WAITALL) == (ssize_t)sizeof data);
    }
    close(ends[0]);
    close(ends[1]);
}

static int there[2], back[2];

static void *partner(void *unused) {
    char byte;
    while (read(there[0], &byte, 1) == 1) CHECK(write(back[1], &byte, 1) == 1);
    return unused;
}

/* Two threads hand a byte to and fro, processes come and go. */
static void plain_threads(void) {
    pthread_t thread;
    CHECK(pipe(there) == 0 && pipe(back) == 0);
    CHECK(pthread_create(&thread, NULL, partner, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        char byte = 'x';
        CHECK(write(there[1], &byte, 1) == 1);
        CHECK(read(back[0], &byte, 1) == 1);
    }
    close(there[1]);
    CHECK(pthread_join(thread, NULL) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(3);
    CHECK(status_of(child) == 3);
}

int main(void) {
    mark(BEGIN);
    PROGRAM();
    mark(END);
    return 0;
}
