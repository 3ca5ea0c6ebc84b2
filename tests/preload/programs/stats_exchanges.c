/* SPDX-License-Identifier: MIT
 *
 * THREADS threads, each with CONNECTIONS connections one after the other, each
 * with EXCHANGES exchanges (header, body, answer).
 *
 * stats_exchanges ADDRESS PORT THREADS CONNECTIONS EXCHANGES [wait | abandon | keep]
 *   wait     says "ready" before the connections are closed and waits for a line
 *   abandon  ends by _exit without closing the last connection
 *   keep     closes no connection before the end
 */
#include "client.h"
#include <stdatomic.h>

enum { THREADS = 8 };

static client_t client;
static int connections, exchanges;
static bool keep;
static atomic_ulong segments;
static int last[THREADS];

static void one_connection(int *fd) {
    char data[HEADER + BODY];
    *fd = connect_to(client);
    for (int i = 0; i < exchanges; i++) {
        fill(data, sizeof data, (size_t)i * sizeof data);
        CHECK(write(*fd, data, HEADER) == HEADER);
        CHECK(write(*fd, data + HEADER, BODY) == BODY);
        read_reply(*fd);
    }
    atomic_fetch_add(&segments, data_segments(*fd));
}

static void *work(void *place) {
    int *fd = place;
    for (int i = 0; i < connections; i++) {
        if (i > 0 && !keep) close(*fd);
        one_connection(fd);
    }
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc >= 6);
    client = (client_t){argv[1], atoi(argv[2]), 0, 0};
    int threads = atoi(argv[3]);
    connections = atoi(argv[4]);
    exchanges = atoi(argv[5]);
    const char *end = argc > 6 ? argv[6] : "";
    keep = strcmp(end, "keep") == 0;
    pthread_t ids[THREADS];
    CHECK(threads <= THREADS);
    if (threads == 1) {
        work(&last[0]); /* a program without threads */
    } else {
        for (int i = 0; i < threads; i++)
            CHECK(pthread_create(&ids[i], NULL, work, &last[i]) == 0);
        for (int i = 0; i < threads; i++) CHECK(pthread_join(ids[i], NULL) == 0);
    }
    if (strcmp(end, "wait") == 0) {
        printf("ready\n");
        fflush(stdout);
        (void)!getchar();
    }
    for (int i = 0; i < threads && !keep && strcmp(end, "abandon") != 0; i++) close(last[i]);
    printf("{\"loaded\": %s, \"segments\": %lu}\n", library_is_loaded() ? "true" : "false",
           atomic_load(&segments));
    fflush(stdout);
    if (strcmp(end, "abandon") == 0) _exit(0);
    return 0;
}
