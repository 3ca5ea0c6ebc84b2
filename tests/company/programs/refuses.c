/* SPDX-License-Identifier: MIT
 *
 * Runs the program of its arguments where the kernel refuses a CALL that has VALUE as its argument number
 * WHERE (from 0), or ends who makes it: ACTION; but not of the descriptor -1, by which the library asks.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CALL /* the compiler was not told */
#define CALL   SYS_setsockopt
#define WHERE  2
#define VALUE  TCP_NODELAY
#define ACTION SECCOMP_RET_ERRNO | EPERM
#endif

static struct sock_filter refuses[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 5),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ~0U, 3, 0),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + WHERE * sizeof(__u64)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, VALUE, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, ACTION),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

int main(int argc, char **argv) {
    struct sock_fprog program = {sizeof refuses / sizeof refuses[0], refuses};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 99;
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 99;
}
