/* SPDX-License-Identifier: MIT
 *
 * Threads are made all the time, and the process forks: each child writes header and body and ends.
 * A child that hangs is ended by its alarm.
 */
#include "client.h"

enum { MAKERS = 4 };

/* Each new thread gets a copy of it, made under the lock that the child must not need. */
static __thread char much[1 << 19] = {1};

static volatile bool enough;

static void *nothing(void *unused)
{
    much[0] = 2;
    return unused;
}

static void *make_threads(void *unused)
{
    pthread_t thread;
    while (!enough)
        if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t makers[MAKERS];
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), status = 0;
    for (int i = 0; i < MAKERS; i++) CHECK(pthread_create(&makers[i], NULL, make_threads, NULL) == 0);
    for (int i = 0; i < client.count && status == 0; i++) {
        next_message(i);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(5);
            bool good = write(fd, message, HEADER) == HEADER && write(fd, message + HEADER, BODY) == BODY;
            _exit(good ? 0 : 1);
        }
        CHECK(waitpid(child, &status, 0) == child);
    }
    enough = true;
    for (int i = 0; i < MAKERS; i++) pthread_join(makers[i], NULL);
    close(fd);
    ADD_FACT("\"status\": %d", status);
    return report();
}
