/* SPDX-License-Identifier: MIT
 *
 * A client with a message that has no answer of its own.  ADDRESS PORT COUNT WAY; the peer answers each A (26
 * bytes) by 77 bytes, each B (9) by nothing and each C (33) by 90.
 *
 *   closes     A and B, the answer of A, C and its answer.  As MySQL's clients: EXECUTE, STMT_CLOSE, PREPARE
 *   late       as closes, but B comes when the answer of A has arrived
 *   within     A, a part of its answer, B, the rest of the answer, C and its answer
 *   subscribes reads what comes, by its exact length, and confirms each by B.  The peer sends two at a time
 *   fast_open  as closes, on a connection that its first bytes open (MSG_FASTOPEN), without connect(2)
 *   prefixed   A and its answer by exact lengths, C and its answer: no stall
 *   pipelines  A and C by one write, both answers by exact lengths: no stall
 *   chat       one byte, one byte: no stall
 */
#include "client.h"

static const char *way;

static bool is_way(const char *name) {
    return strcmp(way, name) == 0;
}

static void say(int fd, char what, int length) {
    char text[64];
    memset(text, what, sizeof text);
    CHECK(send(fd, text, (size_t)length, 0) == length);
}

static void hear(int fd, int length) {
    char text[128];
    for (ssize_t n; length > 0; length -= (int)n) CHECK((n = recv(fd, text, (size_t)length, 0)) > 0);
}

static void exchange(int fd) {
    static const struct timespec moment = {.tv_nsec = 300000};
    if (is_way("chat")) {
        say(fd, 'x', 1);
        hear(fd, 1);
        return;
    }
    if (is_way("pipelines")) {
        char both[26 + 33];
        memset(both, 'A', 26);
        memset(both + 26, 'C', 33);
        CHECK(send(fd, both, sizeof both, 0) == sizeof both);
        hear(fd, 77);
        hear(fd, 90);
        return;
    }
    if (is_way("subscribes")) {
        for (int i = 0; i < 2; i++) {
            hear(fd, 4);
            hear(fd, 17);
            say(fd, 'B', 9);
        }
        return;
    }
    say(fd, 'A', 26);
    if (is_way("within")) {
        hear(fd, 4);
        say(fd, 'B', 9);
        hear(fd, 73);
    } else if (is_way("prefixed")) {
        hear(fd, 4);
        hear(fd, 73);
    } else {
        if (is_way("late")) nanosleep(&moment, NULL);
        say(fd, 'B', 9);
        hear(fd, 77);
    }
    say(fd, 'C', 33);
    hear(fd, 90);
}

/* The first exchange opens the connection. */
static int opened_fast(client_t client) {
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    char text[26];
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    memset(text, 'A', sizeof text);
    CHECK(sendto(fd, text, sizeof text, MSG_FASTOPEN, (struct sockaddr *)&peer, sizeof peer) == sizeof text);
    hear(fd, 77);
    return fd;
}

int main(int argc, char **argv) {
    CHECK(argc > 4);
    way = argv[4];
    client_t client = client_arguments(4, argv);
    mark(BEGIN);
    int fd = is_way("fast_open") ? opened_fast(client) : connect_to(client);
    run_exchanges(fd, client.count, exchange);
    close(fd);
    mark(END);
    return report();
}
