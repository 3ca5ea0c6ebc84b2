/* SPDX-License-Identifier: MIT
 *
 * With a few connections, and with COUNT: forks a child that ends at once, and passes a connection to itself.
 *
 * Usage: crowd COUNT.  Prints of each how many pages the child has touched or copied, and the processor time
 * of a passage in microseconds.
 */
#include "client.h"

static long pages_of_a_child(void) {
    struct rusage used;
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(0);
    CHECK(wait4(child, &status, 0, &used) == child && status == 0);
    return used.ru_minflt;
}

/* The best of five: others use the processor and its caches, too. */
static long cost_of_a_passage(int fd) {
    enum { TRIES = 5, PASSAGES = 100 };
    int pair[2];
    long best = -1;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    for (int i = 0; i < TRIES; i++) {
        clock_t before = clock();
        for (int j = 0; j < PASSAGES; j++) {
            send_descriptor(pair[0], fd, false);
            CHECK(close(receive_descriptor(pair[1], 0)) == 0);
        }
        long each = (clock() - before) * (1000000 / CLOCKS_PER_SEC) / PASSAGES;
        if (best < 0 || each < best) best = each;
    }
    close(pair[0]);
    close(pair[1]);
    return best;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    int count = atoi(argv[1]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 64) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    long pages = 0, passage = 0;
    for (int i = 1; i <= count; i++) {
        char byte;
        int client = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(client >= 0 && connect(client, (struct sockaddr *)&address, sizeof address) == 0);
        int server = accept(listener, NULL, NULL);
        CHECK(server >= 0);
        CHECK(write(client, "x", 1) == 1 && read(server, &byte, 1) == 1);
        if (i == 8) {
            pages = pages_of_a_child();
            passage = cost_of_a_passage(client);
        }
    }
    printf("{\"loaded\": %s, \"pages\": [%ld, %ld], \"passage\": [%ld, %ld]}\n",
           library_is_loaded() ? "true" : "false", pages, pages_of_a_child(), passage,
           cost_of_a_passage(listener));
    return 0;
}
