/* SPDX-License-Identifier: MIT
 *
 * SIGRTMIN is blocked in the program's threads and taken by sigtimedwait (argv[5] == "wait"), or unblocked at
 * one place alone, where its handler runs ("handler"), while exchanges are made and a timer sends it.  With
 * "late" it is blocked only after the first exchanges: a thread of ours does not inherit that.
 */
#include "client.h"

enum { TIMES = 20 };

static volatile sig_atomic_t handled, elsewhere, may;
static pid_t main_task;

static void handler(int number)
{
    (void)number;
    handled++;
    if (!may || (pid_t)raw_call(SYS_gettid, 0, 0, 0, 0, 0) != main_task) elsewhere++;
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    bool late = strcmp(argv[5], "late") == 0;
    if (!late) CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    main_task = (pid_t)raw_call(SYS_gettid, 0, 0, 0, 0, 0);
    bool waits = strcmp(argv[5], "wait") == 0;
    if (!waits) CHECK(sigaction(SIGRTMIN, &(struct sigaction){.sa_handler = handler}, NULL) == 0);
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    if (late) CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);

    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec each = {{0, 5000000}, {0, 5000000}};
    CHECK(timer_settime(timer, 0, &each, NULL) == 0);
    int taken = 0;
    for (int i = 0; i < TIMES; i++) {
        two_writes(fd); /* the thread that holds bytes is awake */
        struct timespec most = {5, 0};
        if (waits) {
            taken += sigtimedwait(&set, NULL, &most) == SIGRTMIN;
            continue;
        }
        long begin = now_us();
        while (now_us() - begin < 6000) {}
        may = 1;
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        sigprocmask(SIG_BLOCK, &set, NULL);
        may = 0;
    }
    ADD_FACT("\"taken\": %d, \"elsewhere\": %d", waits ? taken : (int)handled, (int)elsewhere);
    return report();
}
