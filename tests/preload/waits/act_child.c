/* SPDX-License-Identifier: MIT
 *
 * Waits for a child and waits for a signal.
 */
#include "acts.h"

#include <sys/resource.h>
#include <sys/wait.h>

extern pid_t other_wait(int *) SYMBOL("__wait");
extern pid_t other_waitpid(pid_t, int *, int) SYMBOL("__waitpid");

static pid_t child;

static void sleeping_child(void) {
    child = child_for_a_while(NULL, NULL);
}

ACT(wait, sleeping_child, 0, wait(NULL))
ACT(__wait, sleeping_child, 0, other_wait(NULL))
ACT(wait3, sleeping_child, 0, wait3(NULL, 0, NULL))
ACT(wait4, sleeping_child, 0, wait4(child, NULL, 0, NULL))
ACT(waitpid, sleeping_child, 0, waitpid(child, NULL, 0))
ACT(__waitpid, sleeping_child, 0, other_waitpid(child, NULL, 0))
ACT(waitid, sleeping_child, 0, waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED))

extern int other_sigsuspend(const sigset_t *) SYMBOL("__sigsuspend");
extern int bsd_sigpause(int mask) SYMBOL("sigpause");
extern int either_sigpause(int signal_or_mask, int is_signal) SYMBOL("__sigpause");
extern int xpg_sigpause(int signal) SYMBOL("__xpg_sigpause");

static sigset_t alarms;
static const sigset_t none;

/* sigwait and its kin take a signal that is blocked */
static void alarm_blocked(void) {
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarms, NULL);
}

static const struct timespec span = {.tv_nsec = WAIT_MS * 1000000};

ACT(sigwait, alarm_blocked, ALARM, sigwait(&alarms, &(int){0}))
ACT(sigwaitinfo, alarm_blocked, ALARM, sigwaitinfo(&alarms, NULL))
ACT(sigtimedwait, alarm_blocked, 0, sigtimedwait(&alarms, NULL, &span))
ACT(sigsuspend, NULL, ALARM, sigsuspend(&none))
ACT(__sigsuspend, NULL, ALARM, other_sigsuspend(&none))
ACT(sigpause, NULL, ALARM, bsd_sigpause(0))
ACT(__sigpause, NULL, ALARM, either_sigpause(SIGALRM, 1))
ACT(__xpg_sigpause, NULL, ALARM, xpg_sigpause(SIGALRM))
ACT(pause, NULL, ALARM, pause())
