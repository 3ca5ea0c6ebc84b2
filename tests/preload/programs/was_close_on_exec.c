/* SPDX-License-Identifier: MIT
 *
 * A connection made close-on-exec gets into another program all the same, by argv[6]:
 *
 *   spawn   a file action of posix_spawn duplicates it
 *   vfork   the child does
 *   ioctl   FIONCLEX takes the mark off before an exec
 */
#include "pass_on.h"
#include <spawn.h>
#include <sys/ioctl.h>

extern char **environ;

int main(int argc, char **argv) {
    tell_if_second(argc, argv);
    CHECK(argc == 7);
    client_t client = client_arguments(argc, argv);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    bool replaced = strcmp(argv[6], "ioctl") == 0;
    int reserved = replaced ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC); /* number 3 */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK((replaced ? fd : reserved) == 3 && connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0);
    set_own_value(argc, argv, fd);
    exchange_all(fd, 0, 5);
    char *const words[] = {argv[0], "tell", NULL};
    pid_t child = 0;
    if (replaced) {
        CHECK(ioctl(fd, FIONCLEX) == 0);
        execv(argv[0], words);
    } else if (strcmp(argv[6], "spawn") == 0) {
        posix_spawn_file_actions_t actions;
        CHECK(posix_spawn_file_actions_init(&actions) == 0);
        CHECK(posix_spawn_file_actions_adddup2(&actions, fd, 3) == 0);
        CHECK(posix_spawn(&child, argv[0], &actions, NULL, words, environ) == 0);
    } else if ((child = vfork()) == 0) {
        dup2(fd, 3);
        execv(argv[0], words);
        _exit(1);
    }
    CHECK(status_of(child) == 0);
    return 0;
}
