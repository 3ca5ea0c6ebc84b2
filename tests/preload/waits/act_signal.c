/* SPDX-License-Identifier: MIT
 *
 * Signals, any of which may stop or end the process: what it has written leaves before.  SIGURG does nothing
 * by default.
 */
#include "acts.h"

#include <sys/pidfd.h>
#include <sys/syscall.h>

static void group_of_our_own(void) {
    if (setpgid(0, 0) < 0)
        fail("setpgid");
}

static const union sigval value;

ACT(kill, NULL, 0, kill(getpid(), SIGURG))
ACT(killpg, group_of_our_own, 0, killpg(getpgrp(), SIGURG))
ACT(raise, NULL, 0, raise(SIGURG))
ACT(gsignal, NULL, 0, gsignal(SIGURG))
ACT(sigqueue, NULL, 0, sigqueue(getpid(), SIGURG, value))
ACT(tgkill, NULL, 0, tgkill(getpid(), gettid(), SIGURG))
ACT(pthread_kill, NULL, 0, pthread_kill(pthread_self(), SIGURG))
ACT(pthread_sigqueue, NULL, 0, pthread_sigqueue(pthread_self(), SIGURG, value))
ACT(pidfd_send_signal, NULL, 0, pidfd_send_signal(pidfd_open(getpid(), 0), SIGURG, NULL, 0))
ACT_AS(syscall_kill, "syscall SYS_kill", NULL, 0, syscall(SYS_kill, getpid(), SIGURG))
ACT_AS(syscall_tgkill, "syscall SYS_tgkill", NULL, 0, syscall(SYS_tgkill, getpid(), gettid(), SIGURG))

static siginfo_t told = {.si_code = SI_QUEUE};

ACT_AS(syscall_rt_sigqueueinfo, "syscall SYS_rt_sigqueueinfo", NULL, 0,
       syscall(SYS_rt_sigqueueinfo, getpid(), SIGURG, &told))
ACT_AS(syscall_rt_tgsigqueueinfo, "syscall SYS_rt_tgsigqueueinfo", NULL, 0,
       syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGURG, &told))
ACT_AS(syscall_pidfd_send_signal, "syscall SYS_pidfd_send_signal", NULL, 0,
       syscall(SYS_pidfd_send_signal, pidfd_open(getpid(), 0), SIGURG, NULL, 0))
