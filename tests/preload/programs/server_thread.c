/* SPDX-License-Identifier: MIT
 *
 * A server with a thread for each connection.
 */
#define SERVE serve_one
#include "server.h"

static void *answer(void *fd)
{
    answer_all(*(int *)fd);
    return NULL;
}

static void serve_one(int listener)
{
    int fd = accept(listener, NULL, NULL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, answer, &fd) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}
