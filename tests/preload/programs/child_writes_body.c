/* SPDX-License-Identifier: MIT
 *
 * The parent writes the header, a forked child the body: one message of two processes.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(write(fd, message + HEADER, BODY) == BODY ? 0 : 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
