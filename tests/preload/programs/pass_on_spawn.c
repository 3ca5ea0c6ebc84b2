/* SPDX-License-Identifier: MIT
 *
 * Exchanges, then children of every make with the connection open: each finds the
 * application's values, and the parent goes on without a stall.
 * argv[6] names how the child is made.
 */
#include "pass_on.h"
#include <spawn.h>

static char *self;
static const char *how;

static void spawn(void) {
    char *const words[] = {self, "tell", NULL}, *const none[] = {NULL};
    char command[4096];
    pid_t child = -1;
    snprintf(command, sizeof command, "env -i %s tell", self);
    fflush(stdout);
    if (strcmp(how, "posix_spawn") == 0)
        CHECK(posix_spawn(&child, self, NULL, NULL, words, none) == 0);
    if (strcmp(how, "posix_spawnp") == 0)
        CHECK(posix_spawnp(&child, self, NULL, NULL, words, none) == 0);
    if (strcmp(how, "fork") == 0) child = fork();
    if (strcmp(how, "vfork") == 0) child = vfork();
    if (child == 0) {
        execve(self, words, none);
        _exit(1);
    }
    if (strcmp(how, "system") == 0) {
        CHECK(system(command) == 0);
        return;
    }
    if (strcmp(how, "popen") == 0) {
        char line[200];
        FILE *pipe = popen(command, "r");
        CHECK(pipe && fgets(line, sizeof line, pipe));
        CHECK(pclose(pipe) == 0);
        fputs(line, stdout);
        fflush(stdout);
        return;
    }
    CHECK(status_of(child) == 0);
}

int main(int argc, char **argv) {
    tell_if_second(argc, argv);
    self = argv[0];
    how = argc > 6 ? argv[6] : "posix_spawn";
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    CHECK(fd == 3);
    set_own_value(argc, argv, fd);
    exchange_all(fd, 0, 5);
    spawn();
    run_exchanges_from(5, fd, client.count, two_writes);
    close(fd);
    return report();
}
