/* SPDX-License-Identifier: MIT
 *
 * The process divides, ends, or changes its rights.
 */
#include "acts.h"

#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <pty.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>

extern pid_t other_fork(void) SYMBOL("__fork");
extern pid_t libc_fork(void) SYMBOL("__libc_fork");
extern pid_t other_vfork(void) SYMBOL("__vfork") __attribute__((returns_twice));

static pid_t leave_child(pid_t pid) {
    if (pid == 0)
        raw_exit(0);
    return pid;
}

/* forkpty hands the child a descriptor, and stays our child's terminal */
static int pty_fork(void) {
    int controller;
    return leave_child(forkpty(&controller, NULL, NULL, NULL));
}

ACT(fork, NULL, 0, leave_child(fork()))
ACT(__fork, NULL, 0, leave_child(other_fork()))
ACT(__libc_fork, NULL, 0, leave_child(libc_fork()))
ACT(_Fork, NULL, 0, leave_child(_Fork()))
ACT(vfork, NULL, 0, leave_child(vfork()))
ACT(__vfork, NULL, 0, leave_child(other_vfork()))
ACT(forkpty, NULL, 0, pty_fork())
ACT(daemon, NULL, 0, daemon(1, 1))

/* A slow end: a function registered for it sleeps.  The
 * library's own destructor is later than that. */
static void slow_exit(void) {
    if (atexit(sleep_out_of_sight) != 0 || at_quick_exit(sleep_out_of_sight) != 0)
        fail("atexit");
}

ACT(exit, slow_exit, 0, (exit(0), 0))
ACT(_exit, NULL, 0, (_exit(0), 0))
ACT(_Exit, NULL, 0, (_Exit(0), 0))
ACT(quick_exit, slow_exit, 0, (quick_exit(0), 0))
ACT(abort, NULL, 0, (abort(), 0))
ACT_AS(syscall_exit, "syscall SYS_exit_group", NULL, 0, syscall(SYS_exit_group, 0))

static void slow_cleanup(void *unused) {
    (void)unused;
    sleep_out_of_sight();
}

static long exit_slowly(void (*leave)(void)) {
    pthread_cleanup_push(slow_cleanup, NULL);
    leave();
    pthread_cleanup_pop(0);
    return 0;
}

static _Noreturn void leave_pthread(void) {
    pthread_exit(NULL);
}

static _Noreturn void leave_c11_thread(void) {
    thrd_exit(0);
}

ACT(pthread_exit, NULL, IN_THREAD, exit_slowly(leave_pthread))
ACT(thrd_exit, NULL, IN_THREAD, exit_slowly(leave_c11_thread))

/* A hold begun without a window is pushed when the first thread of the program allows one.
 * The acts run by UNSTALL_THREAD=own. */
static void *no_work(void *unused) {
    return unused;
}

static int no_c11_work(void *unused) {
    (void)unused;
    return 0;
}

static long detached_pthread(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, no_work, NULL) == 0 && pthread_detach(thread) == 0;
}

static long detached_c11_thread(void) {
    thrd_t thread;
    return thrd_create(&thread, no_c11_work, NULL) == thrd_success && thrd_detach(thread) == thrd_success;
}

extern __typeof__(clone) other_clone SYMBOL("__clone");

static long detached_task(__typeof__(clone) *call) {
    static _Alignas(16) char stack[4096];
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    return call(no_c11_work, stack + sizeof(stack), flags, NULL) > 0;
}

ACT(pthread_create, NULL, 0, detached_pthread())
ACT(thrd_create, NULL, 0, detached_c11_thread())
ACT(clone, NULL, 0, detached_task(clone))
ACT(__clone, NULL, 0, detached_task(other_clone))

static long child_writes(int connection) {
    int pid = fork();
    if (pid == 0) {
        hold_now(connection);
        sleep_out_of_sight();
        raw_exit(0);
    }
    return pid;
}

ACT_AS(lone_child, "a child's write", NULL, UNHELD, child_writes(connection))

/* the process ends with its last thread, which this is */
ACT_AS(last_thread, "the last thread's pthread_exit", NULL, 0, (pthread_exit(NULL), 0))

/* The installing of a seccomp filter that allows everything */
static struct sock_filter allow[] = {{.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW}};
static struct sock_fprog filter = {.len = 1, .filter = allow};
static int own_names;

static void no_new_privileges(void) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail("PR_SET_NO_NEW_PRIVS");
}

static void names_of_our_own(void) {
    own_names = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
    if (own_names < 0)
        fail("/proc/self/ns/uts");
}

ACT(prctl, no_new_privileges, 0, prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
ACT(unshare, NULL, 0, unshare(CLONE_FS))
ACT(setns, names_of_our_own, 0, setns(own_names, CLONE_NEWUTS))
/* Of libcap's, in libc too. */
extern int capset(void *header, const void *data);

ACT(setuid, NULL, 0, setuid(geteuid()))
ACT(setgid, NULL, 0, setgid(getegid()))
ACT(setegid, NULL, 0, setegid(getegid()))
ACT(setregid, NULL, 0, setregid(-1, -1))
ACT(setresgid, NULL, 0, setresgid(-1, -1, -1))
ACT(setfsuid, NULL, 0, setfsuid(geteuid()))
ACT(setfsgid, NULL, 0, setfsgid(getegid()))
ACT(setgroups, NULL, 0, setgroups(0, NULL))
ACT(initgroups, NULL, 0, initgroups("root", 0))
ACT(personality, NULL, 0, personality(0xffffffff))
ACT(capset, NULL, 0, capset(NULL, NULL))
ACT(seteuid, NULL, 0, seteuid(geteuid()))
ACT(setreuid, NULL, 0, setreuid(getuid(), geteuid()))
ACT(setresuid, NULL, 0, setresuid(getuid(), geteuid(), geteuid()))
ACT_AS(syscall_seccomp, "syscall SYS_seccomp", no_new_privileges, 0,
       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter))
ACT_AS(syscall_unshare, "syscall SYS_unshare", NULL, 0, syscall(SYS_unshare, CLONE_FS))
ACT_AS(unshare_user, "unshare CLONE_NEWUSER", NULL, 0, unshare(CLONE_NEWUSER))

/* TCP_NODELAY as the kernel has it, which may differ from the value that the application reads back. */
static long nodelay_in_kernel(int connection) {
    int value = -1;
    socklen_t length = sizeof value;
    raw6(SYS_getsockopt, connection, IPPROTO_TCP, TCP_NODELAY, (long)&value, (long)&length, 0);
    return value;
}

/* A ring can read and write connections that never pass by us again. */
static long make_ring(void) {
    static char parameters[256]; /* struct io_uring_params */
    if (syscall(SYS_io_uring_setup, 4, parameters) < 0)
        fail("io_uring_setup");
    return 0;
}

ACT_AS(syscall_ring, "syscall SYS_io_uring_setup", NULL, UNHELD,
       (make_ring(), nodelay_in_kernel(connection)))
