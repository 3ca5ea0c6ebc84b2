/* SPDX-License-Identifier: MIT
 *
 * A server that forks its workers before there is a connection: a worker accepts.
 */
#define SERVE serve_one
#include "server.h"

static void serve_one(int listener)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        answer_all(accept(listener, NULL, NULL));
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}
