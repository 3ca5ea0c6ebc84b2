/* SPDX-License-Identifier: MIT
 *
 * Threads are cancelled while they wait for an answer with a message just written; the
 * connection must go on to work for another thread: no lock may leak.
 */
#include "client.h"

static int connection;

static void *write_and_wait(void *index)
{
    char data[HEADER + BODY], never[16];
    fill(data, sizeof data, *(size_t *)index * sizeof data);
    CHECK(write(connection, data, HEADER) == HEADER);
    CHECK(write(connection, data + HEADER, BODY) == BODY);
    for (;;) recv(connection, never, sizeof never, 0);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    connection = connect_to(client);
    for (size_t i = 0; i < 20; i++) {
        pthread_t thread;
        void *result;
        CHECK(pthread_create(&thread, NULL, write_and_wait, &i) == 0);
        usleep(i % 4 * 700);
        if (i % 2) usleep(3000);
        pthread_cancel(thread);
        CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
    return report();
}
