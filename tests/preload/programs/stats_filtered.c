/* SPDX-License-Identifier: MIT
 *
 * A program that installs a seccomp filter of its own: the calls of statistics end the program from then on.
 */
#include "client.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

static const int deadly[] = {SYS_getpid,   SYS_getppid,     SYS_getpeername, SYS_getsockname,
                             SYS_madvise,  SYS_munmap,      SYS_fallocate,   SYS_openat,
                             SYS_fstatfs,  SYS_rt_sigprocmask, SYS_prlimit64, SYS_getsockopt};
enum { DEADLY = sizeof deadly / sizeof *deadly };

static void filter(void)
{
    struct sock_filter code[DEADLY + 3];
    int at = 0;
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < DEADLY; i++)
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)deadly[i],
                                                  (unsigned char)(DEADLY - i), 0);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {(unsigned short)at, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    bool loaded = library_is_loaded();
    int fd = connect_to(client), second = connect_to(client);
    for (int i = 0; i < 6; i++) two_writes(fd);
    printf("{\"loaded\": %s}\n", loaded ? "true" : "false");
    fflush(stdout);
    filter();
    int third = connect_to(client);
    for (int i = 0; i < 3; i++) {
        two_writes(fd);
        two_writes(second);
        two_writes(third);
    }
    long child = raw_call(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        two_writes(fd);
        close(third);
        _exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid((pid_t)child, &status, 0) == child && status == 0);
    two_writes(fd);
    close(second);
    return 0;
}
