/* SPDX-License-Identifier: MIT
 *
 * COUNT exchanges, behind each of them system(3), before which a thread of ours ends, and a handler that
 * forks at about that time.  The child returns from the handler and leaves.  How many did not.
 */
#include "client.h"

#include <sys/time.h>

enum { GIVE_UP_MS = 20000 };

static volatile sig_atomic_t wanted, in_child;
static volatile pid_t child;

static void forks(int signal)
{
    (void)signal;
    if (!wanted || in_child) return;
    wanted = 0;
    pid_t made = fork();
    if (made == 0) in_child = 1;
    else child = made;
}

static bool ends(pid_t pid)
{
    for (int i = 0; i < GIVE_UP_MS; i++, usleep(1000))
        if (waitpid(pid, NULL, WNOHANG) == pid) return true;
    kill(pid, SIGKILL);
    return waitpid(pid, NULL, 0) != pid;
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    struct sigaction action = {.sa_handler = forks, .sa_flags = SA_RESTART};
    int made = 0, hung = 0, fd = connect_to(client);
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < client.count && !hung; i++) {
        run_exchanges(fd, 1, two_writes);
        struct itimerval soon = {{0, 0}, {0, 1 + i % 60 * 3}};
        child = 0;
        wanted = 1;
        setitimer(ITIMER_REAL, &soon, NULL);
        CHECK(system("") >= -1);
        if (in_child) _exit(0);
        while (wanted) {}
        if (in_child) _exit(0);
        made++;
        hung += !ends(child);
    }
    ADD_FACT("\"made\": %d, \"hung\": %d", made, hung);
    return report();
}
