/* SPDX-License-Identifier: MIT
 *
 * Exchanges, then a child with the connection as its standard input and output.  While it runs, the
 * application sets TCP_NODELAY=1.  The child ends, and the parent goes on.  argv[5] names how
 * the child is made.
 */
#include <spawn.h>

#include "client.h"

/* A program that says when it runs, and lives until the other end of `until` is closed. */
static pid_t child_on(int fd, int runs, int until, const char *how)
{
    extern char **environ;
    char command[64];
    snprintf(command, sizeof command, "echo >&%d; read line <&%d", runs, until);
    char *const words[] = {"sh", "-c", command, NULL};
    pid_t child = -1;
    if (strcmp(how, "fork") == 0) {
        if ((child = fork()) == 0) {
            if (dup2(fd, 0) == 0 && dup2(fd, 1) == 1) execve("/bin/sh", words, environ);
            _exit(1);
        }
        return child;
    }
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_adddup2(&actions, fd, 0) == 0);
    CHECK(posix_spawn_file_actions_adddup2(&actions, fd, 1) == 0);
    CHECK(posix_spawn(&child, "/bin/sh", &actions, NULL, words, environ) == 0);
    return child;
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), runs[2], until[2];
    char line;
    CHECK(pipe(runs) == 0 && pipe(until) == 0 && fcntl(until[1], F_SETFD, FD_CLOEXEC) == 0);
    exchange_all(fd, 0, 5);
    pid_t child = child_on(fd, runs[1], until[0], argv[5]);
    CHECK(child > 0 && read(runs[0], &line, 1) == 1);
    set_option(fd, TCP_NODELAY, 1);
    close(until[1]);
    status_of(child);
    run_exchanges_from(5, fd, client.count, two_writes);
    ADD_FACT("\"said\": %d, \"there\": %d", option_of(fd, TCP_NODELAY),
             raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    return report();
}
