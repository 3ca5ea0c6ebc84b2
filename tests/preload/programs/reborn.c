/* SPDX-License-Identifier: MIT
 *
 * A connection's number is closed by HOW and reused as WHAT: two later writes there must arrive as they would
 * bare, and nothing of the connection's last, unanswered message may be lost.
 *
 * reborn ADDRESS PORT HOW WHAT ADDRESS PORT   (the second peer is for WHAT=tcp)
 * With HOW=raw no library sees the end or the creation.
 */
#include "client.h"

extern int __close(int fd);
extern int __dup2(int from, int to);

static int fd;            /* the number */
static int far_end = -1;  /* the descriptor at which the written bytes arrive */
static bool unseen;       /* HOW=raw */

static int second_connection(char **argv) {
    client_t client = {argv[5], atoi(argv[6]), 0, 0};
    return unseen ? connect_unseen(client) : connect_to(client);
}

/* A new descriptor of the kind WHAT; the lowest free number. */
static int make(const char *what, char **argv) {
    int ends[2] = {-1, -1};
    if (strcmp(what, "tcp") == 0) return second_connection(argv);
    if (strcmp(what, "file") == 0) {
        ends[0] = (int)raw_call(SYS_memfd_create, (long)"file", 0, 0, 0, 0);
        return ends[0];
    }
    if (strcmp(what, "pipe") == 0) {
        int pair[2];
        CHECK(raw_call(SYS_pipe2, (long)pair, 0, 0, 0, 0) == 0);
        /* The writing end is wanted at the lower number. */
        int spare = (int)raw_call(SYS_dup, pair[0], 0, 0, 0, 0);
        raw_call(SYS_dup3, pair[1], pair[0], 0, 0, 0);
        raw_call(SYS_close, pair[1], 0, 0, 0, 0);
        far_end = spare;
        return pair[0];
    }
    if (strcmp(what, "unix") == 0) {
        CHECK(raw_call(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, (long)ends, 0) == 0);
        far_end = ends[1];
        return ends[0];
    }
    if (strcmp(what, "udp") == 0) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        socklen_t length = sizeof address;
        ends[0] = (int)(unseen ? raw_call(SYS_socket, AF_INET, SOCK_DGRAM, 0, 0, 0)
                               : socket(AF_INET, SOCK_DGRAM, 0));
        far_end = socket(AF_INET, SOCK_DGRAM, 0);
        CHECK(bind(far_end, (struct sockaddr *)&address, sizeof address) == 0);
        CHECK(getsockname(far_end, (struct sockaddr *)&address, &length) == 0);
        if (unseen)
            CHECK(raw_call(SYS_connect, ends[0], (long)&address, sizeof address, 0, 0) == 0);
        else
            CHECK(connect(ends[0], (struct sockaddr *)&address, sizeof address) == 0);
        return ends[0];
    }
    errno = EINVAL;
    die(what);
}

static void end_by(const char *how) {
    if (strcmp(how, "close") == 0) CHECK(close(fd) == 0);
    if (strcmp(how, "__close") == 0) CHECK(__close(fd) == 0);
    if (strcmp(how, "close_range") == 0) CHECK(close_range((unsigned)fd, (unsigned)fd, 0) == 0);
    if (strcmp(how, "closefrom") == 0) closefrom(fd);
    if (strcmp(how, "syscall_close") == 0) CHECK(syscall(SYS_close, fd) == 0);
    if (strcmp(how, "raw") == 0) CHECK(raw_call(SYS_close, fd, 0, 0, 0, 0) == 0);
}

static void replace_by(const char *how, int other) {
    if (strcmp(how, "dup2") == 0) CHECK(dup2(other, fd) == fd);
    if (strcmp(how, "__dup2") == 0) CHECK(__dup2(other, fd) == fd);
    if (strcmp(how, "dup3") == 0) CHECK(dup3(other, fd, O_CLOEXEC) == fd);
    close(other);
}

static void check_far_end(const char *what) {
    char data[2 * sizeof message];
    if (strcmp(what, "file") == 0) {
        CHECK(pread(fd, data, sizeof data, 0) == HEADER + BODY);
    } else if (strcmp(what, "udp") == 0) {
        CHECK(read(far_end, data, sizeof data) == HEADER);
        CHECK(read(far_end, data + HEADER, sizeof data - HEADER) == BODY);
    } else {
        CHECK(recv(far_end, data, HEADER + BODY, MSG_WAITALL) == HEADER + BODY ||
              read(far_end, data, HEADER + BODY) == HEADER + BODY);
    }
    CHECK(memcmp(data, message, sizeof message) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 7);
    alarm(10); /* do not wait longer for missing bytes */
    const char *how = argv[3], *what = argv[4];
    unseen = strcmp(how, "raw") == 0;
    fd = connect_to((client_t){argv[1], atoi(argv[2]), 0, 0});
    exchange_all(fd, 0, 4);
    if (!unseen) {
        next_message(4);
        write_message(fd);
    }
    if (strstr(how, "dup")) {
        replace_by(how, make(what, argv));
    } else {
        end_by(how);
        CHECK(make(what, argv) == fd);
    }
    next_message(0);
    if (strcmp(what, "tcp") == 0) {
        run_exchanges(fd, 16, two_writes);
    } else {
        mark(BEGIN);
        write_message(fd);
        mark(END);
        check_far_end(what);
    }
    return report();
}
