/* SPDX-License-Identifier: MIT
 *
 * Servers that differ in the way in which they take their connection, a function each.  harness.program()
 * compiles the one that -DPROGRAM names.
 */
#ifndef PROGRAM
#define PROGRAM server_accept
#endif
#define SERVE PROGRAM
#include "server.h"
#pragma GCC diagnostic ignored "-Wunused-function"

static void server_accept(int listener) {
    answer_all(accept(listener, NULL, NULL));
}

static void server_accept4(int listener) {
    answer_all(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
}

/* By a system call that no library sees: classified at first sight. */
static void server_syscall_accept(int listener) {
    answer_all((int)raw_call(SYS_accept4, listener, 0, 0, 0, 0));
}

/* A child for each connection. */
static void server_fork(int listener) {
    int fd = accept(listener, NULL, NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(listener);
        answer_all(fd);
        exit(0);
    }
    close(fd);
    CHECK(status_of(child) == 0);
}

/* Workers that are forked before there is a connection: a worker accepts. */
static void server_prefork(int listener) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        answer_all(accept(listener, NULL, NULL));
        exit(0);
    }
    CHECK(status_of(child) == 0);
}

/* A program for each connection, which is its standard input and output, as inetd does; or its descriptor 3,
 * as systemd does (Accept=yes), where `how` is "3". */
static void server_inetd(int listener) {
    int fd = accept(listener, NULL, NULL), first = how[0] ? atoi(how) : 0;
    char number[12];
    snprintf(number, sizeof number, "%d", first);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(dup2(fd, 100) == 100 && dup2(100, first) == first);
        CHECK(first > 0 || dup2(100, 1) == 1);
        execl("/proc/self/exe", "server", "inherited", number, (char *)NULL);
        die("execl");
    }
    close(fd);
    CHECK(status_of(child) == 0);
}

static void *answer_in_thread(void *fd) {
    answer_all(*(int *)fd);
    return NULL;
}

/* A thread for each connection. */
static void server_thread(int listener) {
    int fd = accept(listener, NULL, NULL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, answer_in_thread, &fd) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Ten connections, one after the other. */
static void server_one_each(int listener) {
    for (int i = 0; i < 10; i++) answer_all(accept(listener, NULL, NULL));
}

/* The listener gets TCP_NODELAY (or TCP_CORK: argument "cork") when the connection is already waiting to be
 * accepted: the connection has it not. */
static void server_before_option(int listener) {
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    CHECK(poll(&waiting, 1, 10000) == 1);
    set_option(listener, strcmp(how, "cork") == 0 ? TCP_CORK : TCP_NODELAY, 1);
    answer_all(accept(listener, NULL, NULL));
}

/* Requests of 300 bytes, read as they come; an answer of 200 bytes to each. */
static void server_reading(int listener) {
    char request[HEADER + BODY];
    int fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    for (size_t got = 0;;) {
        ssize_t n = read(fd, request + got, sizeof request - got);
        CHECK(n >= 0);
        if (n == 0) break;
        got = (got + (size_t)n) % sizeof request;
        if (got == 0) CHECK(write(fd, message, REPLY) == REPLY);
    }
    close(fd);
}
