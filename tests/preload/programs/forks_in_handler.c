/* SPDX-License-Identifier: MIT
 *
 * A handler of SIGALRM forks while the program allocates, 300 times. With one thread libc's fork takes no
 * lock of malloc's; once libc knows a second thread it does, and the program hangs.
 */
#include <sys/time.h>

#include "client.h"

enum { FORKS = 300 };

static volatile sig_atomic_t forks;

static void handler(int number)
{
    (void)number;
    int status, kept = errno;
    pid_t child = fork();
    if (child == 0) _exit(7);
    if (child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7) forks++;
    errno = kept;
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    CHECK(sigaction(SIGALRM, &(struct sigaction){.sa_handler = handler}, NULL) == 0);
    struct itimerval each = {{0, 1000}, {0, 1000}};
    CHECK(setitimer(ITIMER_REAL, &each, NULL) == 0);
    for (unsigned i = 0; forks < FORKS; i++) free(malloc(16 + i % 100000));
    CHECK(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL) == 0);
    ADD_FACT("\"forks\": %d", (int)forks);
    return report();
}
