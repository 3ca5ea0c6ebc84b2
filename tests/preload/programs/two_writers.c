/* SPDX-License-Identifier: MIT
 *
 * One thread writes the header, another the body, the first one reads.
 */
#include "client.h"
#include <semaphore.h>

static sem_t begin, done;
static int connection;

static void *write_bodies(void *unused)
{
    for (;;) {
        while (sem_wait(&begin) != 0) continue;
        if (connection < 0) return unused;
        CHECK(write(connection, message + HEADER, BODY) == BODY);
        sem_post(&done);
    }
}

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    sem_post(&begin);
    while (sem_wait(&done) != 0) continue;
    read_reply(fd);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    pthread_t thread;
    connection = connect_to(client);
    sem_init(&begin, 0, 0);
    sem_init(&done, 0, 0);
    CHECK(pthread_create(&thread, NULL, write_bodies, NULL) == 0);
    run_exchanges(connection, client.count, exchange);
    close(connection);
    connection = -1;
    sem_post(&begin);
    pthread_join(thread, NULL);
    return report();
}
