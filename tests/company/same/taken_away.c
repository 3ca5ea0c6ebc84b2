/* SPDX-License-Identifier: MIT
 *
 * What prctl(2) takes from a task: the time-stamp counter, and system calls of other code than libc's.  The
 * library read the clock by the counter (SIGSEGV), and made calls of its own, which became SIGSYS.
 */
#include "same.h"

#include <link.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static void exchanges(int fd) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char answer[100] = "";
    for (int i = 0; i < 30; i++) {
        SAY(write(fd, "head", 4));
        SAY(write(fd, "body", 4));
        if (i % 3 == 0)
            SAY(poll(&wait, 1, 1));
        NEED(raw3(SYS_write, peer, answer, 10) == 10);
        SAY(read(fd, answer, sizeof(answer)));
    }
}

/* ---- the time-stamp counter --------------------------------------------- */

CASE(no_counter) {
    say("%s", prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) ? "not on this processor" : "no counter");
    exchanges(fd);
}

CASE(no_counter_by_syscall) {
    say("%s", syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) ? "not here" : "no counter");
    exchanges(fd);
}

CASE(no_counter_in_a_child) {
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    pid_t child = fork();
    if (child == 0) {
        exchanges(fd);
        exit(0);
    }
    int status = -1;
    raw4(SYS_wait4, child, &status, 0, 0);
    say("the child ended with %x", (unsigned)status);
}

/* ---- Syscall User Dispatch ----------------------------------------------- */

static char selector; /* 0: all calls are made; 1: those of code outside the range are SIGSYS */
static volatile int caught;

static void on_sigsys(int number UNUSED) {
    caught++;
}

static struct { unsigned long start, bytes; } libc;

static int find_libc(struct dl_phdr_info *info, size_t size UNUSED, void *unused UNUSED) {
    for (int i = 0; strstr(info->dlpi_name, "/libc.so") && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
            libc.start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            libc.bytes = info->dlpi_phdr[i].p_memsz;
        }
    return 0;
}

static void dispatched(int fd, long refused) {
    char answer[100] = "";
    say("%s", refused ? "not in this kernel" : "calls of libc alone");
    for (int i = 0; i < 30; i++) {
        selector = !refused;
        long head = write(fd, "head", 4), body = write(fd, "body", 4);
        int ready = poll(NULL, 0, 1), other = dup(fd);
        pid_t child = i % 10 ? 0 : fork(); /* there no call is caught */
        if (child == 0 && i % 10 == 0)
            _exit(0);
        int gone = child ? (int)waitpid(child, NULL, 0) == child : 0;
        selector = 0;
        NEED(raw3(SYS_write, peer, answer, 10) == 10);
        selector = !refused;
        long got = read(fd, answer, sizeof(answer)), closed = close(other);
        selector = 0;
        say("%ld %ld %d %d %d %ld %ld, %d caught", head, body, ready, other, gone, got, closed,
            caught);
    }
}

CASE(dispatch) {
    dl_iterate_phdr(find_libc, NULL);
    signal(SIGSYS, on_sigsys);
    dispatched(fd, prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, libc.start, libc.bytes, &selector));
}

CASE(dispatch_by_syscall) {
    dl_iterate_phdr(find_libc, NULL);
    signal(SIGSYS, on_sigsys);
    dispatched(
        fd, syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, 1, libc.start, libc.bytes, &selector));
}

/* All calls are still made: nothing is caught in any mode. */
CASE(dispatch_of_nothing) {
    signal(SIGSYS, on_sigsys);
    dispatched(fd, prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, ~0UL, &selector));
}
