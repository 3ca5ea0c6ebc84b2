/* SPDX-License-Identifier: MIT
 *
 * A child program has the connection as its standard input for a while; exchanges are made
 * meanwhile, and go on when it has ended.  Fifth argument: how it is started.
 */
#include <spawn.h>

#include "client.h"

extern char **environ;

static char *const words[] = {"sleep", "0.2", NULL};

static pid_t by_posix_spawn(int fd)
{
    pid_t child = 0;
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_adddup2(&actions, fd, 0) == 0);
    CHECK(posix_spawnp(&child, "sleep", &actions, NULL, words, environ) == 0);
    return child;
}

static pid_t by_fork(int fd)
{
    pid_t child = fork();
    if (child != 0) return child;
    dup2(fd, 0);
    execvp("sleep", words);
    _exit(99);
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    FILE *stream = NULL;
    char command[40];
    exchange_all(fd, 0, 6);
    pid_t child = strcmp(argv[5], "fork") == 0 ? by_fork(fd) : 0;
    if (strcmp(argv[5], "posix_spawn") == 0) child = by_posix_spawn(fd);
    snprintf(command, sizeof command, "sleep 0.2 <&%d", fd);
    if (strcmp(argv[5], "popen") == 0) stream = popen(command, "r");
    CHECK(child > 0 || stream);
    for (int i = 6; i < 9; i++) {
        usleep(30000);
        next_message(i);
        two_writes(fd);
    }
    CHECK(stream ? pclose(stream) == 0 : waitpid(child, NULL, 0) == child);
    run_exchanges(fd, client.count, two_writes);
    return report();
}
