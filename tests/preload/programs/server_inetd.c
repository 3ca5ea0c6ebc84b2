/* SPDX-License-Identifier: MIT
 *
 * A server that starts a program for each connection, which is its standard input and output, as inetd does;
 * or its descriptor 3, as systemd does (Accept=yes), where `how` is "3".
 */
#define SERVE serve_one
#include "server.h"

static void serve_one(int listener)
{
    int fd = accept(listener, NULL, NULL), first = how[0] ? atoi(how) : 0;
    char number[12];
    snprintf(number, sizeof number, "%d", first);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(dup2(fd, 100) == 100 && dup2(100, first) == first);
        CHECK(first > 0 || dup2(100, 1) == 1);
        execl("/proc/self/exe", "server", "inherited", number, (char *)NULL);
        die("execl");
    }
    close(fd);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}
