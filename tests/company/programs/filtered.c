/* SPDX-License-Identifier: MIT
 *
 * Installs a seccomp filter that kills at every call except the program's own: read, write, clock and end.
 */
#include "confined.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#define ALLOW(call)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter own_calls[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(read),
    ALLOW(write),
    ALLOW(clock_gettime),
    ALLOW(exit),
    ALLOW(exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static struct sock_fprog program = {sizeof own_calls / sizeof own_calls[0], own_calls};

static void no_new_privileges(void)
{
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
}

static void by_prctl(void)
{
    no_new_privileges();
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void by_syscall(void)
{
    no_new_privileges();
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}

/* All threads at once: ours, had we one, too. */
static void by_syscall_for_all(void)
{
    no_new_privileges();
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

static void by_syscall_prctl(void)
{
    no_new_privileges();
    CHECK(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void exit_of_a_task(int status)
{
    syscall(SYS_exit, status);
}

static void by_prctl_and_exit(void)
{
    by_prctl();
    confined_end = exit_of_a_task;
}

/* A filter that the kernel refuses: all goes on as before. */
static void refused(void)
{
    struct sock_fprog nothing = {0, own_calls};
    errno = 0;
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &nothing) == -1);
    confined_errno = errno;
}

int main(int argc, char **argv)
{
    static const struct confinement known[] = {
        {"prctl", by_prctl},           {"syscall", by_syscall},     {"exit", by_prctl_and_exit},
        {"all-threads", by_syscall_for_all}, {"syscall-prctl", by_syscall_prctl},
        {"refused", refused},
    };
    return confined_main(argc, argv, known, sizeof known / sizeof known[0]);
}
