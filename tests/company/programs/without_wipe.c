/* SPDX-License-Identifier: MIT
 *
 * Runs the program of its arguments where the kernel refuses MADV_WIPEONFORK, as one before 4.14 does.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ADVICE = offsetof(struct seccomp_data, args) + 2 * sizeof(__u64), WIPE_ON_FORK = 18 };

static struct sock_filter refuses[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ADVICE),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIPE_ON_FORK, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

int main(int argc, char **argv)
{
    struct sock_fprog program = {sizeof refuses / sizeof refuses[0], refuses};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 99;
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 99;
}
