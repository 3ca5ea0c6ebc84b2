/* SPDX-License-Identifier: MIT
 *
 * The parent connects and makes the first exchanges, a forked child goes on.
 */
#include "client.h"

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), status;
    for (int i = 0; i < 2; i++) {
        next_message(i);
        two_writes(fd);
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) {
        CHECK(waitpid(child, &status, 0) == child);
        return WEXITSTATUS(status);
    }
    for (int i = 2; i < client.count; i++) {
        next_message(i);
        long begin = now_us();
        two_writes(fd);
        facts.us[facts.exchanges++] = now_us() - begin;
    }
    close(fd);
    return report();
}
