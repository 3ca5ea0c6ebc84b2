/* SPDX-License-Identifier: MIT
 *
 * Another thread reads, and is blocked in recv already when the writes come.
 * The writer waits for it on a condition variable, which no library sees.
 */
#include "client.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int replies;

static void *read_replies(void *socket)
{
    char reply[REPLY];
    size_t got = 0;
    for (;;) {
        ssize_t n = recv(*(int *)socket, reply, sizeof reply - got, 0);
        if (n <= 0) return NULL;
        got = (got + (size_t)n) % sizeof reply;
        if (got != 0) continue;
        pthread_mutex_lock(&lock);
        replies++;
        pthread_cond_signal(&arrived);
        pthread_mutex_unlock(&lock);
    }
}

static void exchange(int fd)
{
    pthread_mutex_lock(&lock);
    int before = replies;
    pthread_mutex_unlock(&lock);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    pthread_mutex_lock(&lock);
    while (replies == before) pthread_cond_wait(&arrived, &lock);
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    pthread_t reader;
    CHECK(pthread_create(&reader, NULL, read_replies, &fd) == 0);
    usleep(20000);
    run_exchanges(fd, client.count, exchange);
    shutdown(fd, SHUT_RDWR);
    pthread_join(reader, NULL);
    close(fd);
    return report();
}
