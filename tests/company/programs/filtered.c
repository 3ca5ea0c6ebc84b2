/* SPDX-License-Identifier: MIT
 *
 * Installs a seccomp filter that kills at every call except the program's own: read, write, clock and end.
 */
#include "confined.h"
#include "far.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define ALLOW(call)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define PLAIN  ALLOW(read), ALLOW(write), ALLOW(clock_gettime), ALLOW(exit), ALLOW(exit_group)
#define KILL   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static struct sock_filter own_calls[] = {NUMBER, PLAIN, KILL};
static struct sock_filter more_calls[] = {
    NUMBER, PLAIN, ALLOW(sendmsg), ALLOW(sendmmsg), ALLOW(recvmsg), ALLOW(clone3), ALLOW(wait4),
    ALLOW(execve), ALLOW(socket), ALLOW(dup3), KILL,
};

static struct sock_fprog program = {sizeof own_calls / sizeof own_calls[0], own_calls};

static void no_new_privileges(void) {
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
}

static void by_prctl(void) {
    no_new_privileges();
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void by_syscall(void) {
    no_new_privileges();
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}

/* All threads at once: ours, had we one, too. */
static void by_syscall_for_all(void) {
    no_new_privileges();
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

static void by_syscall_prctl(void) {
    no_new_privileges();
    CHECK(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void exit_of_a_task(int status) {
    syscall(SYS_exit, status);
}

static void by_prctl_and_exit(void) {
    by_prctl();
    confined_end = exit_of_a_task;
}

/* A filter that the kernel refuses: all goes on as before. */
static void refused(void) {
    struct sock_fprog nothing = {0, own_calls};
    errno = 0;
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &nothing) == -1);
    confined_errno = errno;
}

/* More calls, each with arguments in a mapping of their own, which only the kernel can tell to be readable;
 * and more and higher descriptors than the library has room for without a mapping more. */
static void by_prctl_and_far_arguments(void) {
    enum { SOCKETS = 300, HIGH = 1100 };
    char *const nothing[] = {NULL};
    struct rlimit limit;
    int ends[2];
    struct far *far = far_mapping();
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max > HIGH);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    far->child[4] = SIGCHLD;
    program = (struct sock_fprog){sizeof more_calls / sizeof more_calls[0], more_calls};
    by_prctl();
    CHECK(sendmsg(ends[0], rights(far, ends[0]), 0) == 1);
    CHECK(recvmsg(ends[1], rights(far, 0), 0) == 1);
    rights(far, ends[0]);
    CHECK(sendmmsg(ends[0], &far->one, 1, 0) == 1);
    CHECK(execve("/does/not/exist", nothing, nothing) == -1);
    CHECK(dup3(socket(AF_INET, SOCK_STREAM, 0), HIGH, 0) == HIGH);
    for (int i = 0; i < SOCKETS; i++) CHECK(socket(AF_INET, SOCK_STREAM, 0) >= 0);
    long child = syscall(SYS_clone3, far->child, sizeof far->child);
    if (child == 0) raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
    CHECK(child > 0 && raw_call(SYS_wait4, child, 0, 0, 0, 0) == child);
}

int main(int argc, char **argv) {
    static const struct confinement known[] = {
        {"prctl", by_prctl},           {"syscall", by_syscall},     {"exit", by_prctl_and_exit},
        {"all-threads", by_syscall_for_all}, {"syscall-prctl", by_syscall_prctl},
        {"far", by_prctl_and_far_arguments}, {"refused", refused},
    };
    return confined_main(argc, argv, known, sizeof known / sizeof known[0]);
}
