/* SPDX-License-Identifier: MIT
 *
 * A header and a body, written by two functions; says where these lie and where they were called
 * from.  With a fifth argument: in a thread, which has a shallow stack.
 */
#include "client.h"

typedef struct {
    void *function, *called_from;
} place_t;

static place_t places[2];

static __attribute__((noinline)) void send_header(int fd) {
    places[0] = (place_t){(void *)send_header, __builtin_return_address(0)};
    CHECK(write(fd, message, HEADER) == HEADER);
}

static __attribute__((noinline)) void send_body(int fd) {
    places[1] = (place_t){(void *)send_body, __builtin_return_address(0)};
    CHECK(send(fd, message + HEADER, BODY, 0) == BODY);
}

static void exchange(int fd) {
    send_header(fd);
    send_body(fd);
    read_reply(fd);
}

static client_t client;

static void *run(void *unused) {
    int fd = connect_to(client);
    run_exchanges(fd, client.count, exchange);
    close(fd);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    client = client_arguments(argc, argv);
    if (argc > 5) {
        CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
        pthread_join(thread, NULL);
    } else {
        run(NULL);
    }
    for (int i = 0; i < 2; i++)
        ADD_FACT("\"place%d\": [%lu, %lu]", i, (unsigned long)places[i].function,
                 (unsigned long)places[i].called_from);
    return report();
}
