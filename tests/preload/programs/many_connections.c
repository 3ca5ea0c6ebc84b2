/* SPDX-License-Identifier: MIT
 *
 * Many connections at once, each with bursts in turn: a table beyond its first page.
 */
#include "client.h"
#include <sys/resource.h>

enum { CONNECTIONS = 1200 };

static int fds[CONNECTIONS];

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int i = 0; i < CONNECTIONS; i++) fds[i] = connect_to(client);
    for (int round = 0; round < 4; round++) {
        next_message(round);
        for (int i = 0; i < CONNECTIONS; i += 100) {
            long begin = now_us();
            two_writes(fds[i]);
            if (round > 0) facts.us[facts.exchanges++] = now_us() - begin;
        }
    }
    for (int i = 0; i < CONNECTIONS; i++) close(fds[i]);
    return report();
}
