/* SPDX-License-Identifier: MIT
 *
 * Without the pattern: two threads hand a byte to and fro, processes come and go.
 */
#include "client.h"

static int there[2], back[2];

static void *partner(void *unused)
{
    char byte;
    while (read(there[0], &byte, 1) == 1) CHECK(write(back[1], &byte, 1) == 1);
    return unused;
}

int main(void)
{
    mark(BEGIN);
    pthread_t thread;
    CHECK(pipe(there) == 0 && pipe(back) == 0);
    CHECK(pthread_create(&thread, NULL, partner, NULL) == 0);
    for (int i = 0; i < 8; i++) {
        char byte = 'x';
        CHECK(write(there[1], &byte, 1) == 1);
        CHECK(read(back[0], &byte, 1) == 1);
    }
    close(there[1]);
    CHECK(pthread_join(thread, NULL) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(3);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    mark(END);
    return 0;
}
