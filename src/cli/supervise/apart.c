/* SPDX-License-Identifier: MIT */
#include "apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Forks twice; the process in between ends at once, so that init becomes the parent.  The SIGCHLD of that
 * process is consumed here, because the program must not see the end of a child that it did not make. */
int apart_start(void (*work)(int), int channel, int other_end) {
    pid_t between = fork();
    if (between < 0)
        return -errno;
    if (between == 0) {
        close(other_end);
        pid_t apart = fork();
        if (apart == 0) {
            sigset_t all;
            sigfillset(&all); /* a stop of the whole unit must not leave half of its work undone */
            sigprocmask(SIG_BLOCK, &all, NULL);
            setsid();
            work(channel);
        }
        _exit(apart < 0 ? errno : 0);
    }
    int status = 0;
    while (waitpid(between, &status, 0) < 0 && errno == EINTR)
        ;
    sigset_t child;
    struct timespec now = {0};
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &now);
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

void apart_let_go(int keep, const char *name) {
    signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would hide how a child ended */
    if (chdir("/") != 0)
        _exit(1);
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; nothing >= 0 && fd < APART_KEPT; fd++)
        dup2(nothing, fd);
    dup2(keep, APART_KEPT);
    syscall(SYS_close_range, APART_KEPT + 1U, ~0U, 0);
    prctl(PR_SET_NAME, name);
}
