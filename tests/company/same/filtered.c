/* SPDX-License-Identifier: MIT
 *
 * A seccomp filter of which the library does not know, as one that a service inherits: it refuses calls that
 * the program does not make.  The library made them, and so write(2) failed, or lost its bytes in coalesce.
 */
#include "same.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define NUMBER   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define IS(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1)
#define FAILS(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOWED  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Makes small writes in a child, which has the filter from its first hold on. */
static void writes_under(int fd, struct sock_filter *filter, size_t bytes) {
    const struct sock_fprog program = {(unsigned short)(bytes / sizeof *filter), filter};
    const struct iovec parts[2] = {{"c", 1}, {"d", 1}};
    pid_t child = fork();
    if (child == 0) {
        NEED(raw6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) == 0);
        NEED(raw3(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
        for (int i = 0; i < 4; i++) {
            SAY(write(fd, "a", 1));
            SAY(write(fd, "b", 1));
            SAY(writev(fd, parts, 2));
            SAY(poll(NULL, 0, 1));
        }
        exit(0);
    }
    int status = -1;
    raw4(SYS_wait4, child, &status, 0, 0);
    say("the child ended with %x", (unsigned)status);
}

CASE(no_sends) {
    struct sock_filter filter[] = {NUMBER, IS(sendto), FAILS(EPERM), IS(sendmsg), FAILS(EPERM), ALLOWED};
    writes_under(fd, filter, sizeof filter);
}

CASE(no_sendmsg) {
    struct sock_filter filter[] = {NUMBER, IS(sendmsg), FAILS(ENOSYS), ALLOWED};
    writes_under(fd, filter, sizeof filter);
}

CASE(no_options) {
    struct sock_filter filter[] = {NUMBER, IS(setsockopt), FAILS(EACCES), IS(getsockopt), FAILS(EACCES),
                                   ALLOWED};
    writes_under(fd, filter, sizeof filter);
}
