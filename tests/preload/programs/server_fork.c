/* SPDX-License-Identifier: MIT
 *
 * A server that forks a child for each connection.
 */
#define SERVE serve_one
#include "server.h"

static void serve_one(int listener)
{
    int fd = accept(listener, NULL, NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(listener);
        answer_all(fd);
        exit(0);
    }
    close(fd);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}
