/* SPDX-License-Identifier: MIT
 *
 * Children, new programs, ends, threads, rights, signals.  They forward only: the road is process.c.
 * vfork and syscall are in jump.S.
 */
#include <alloca.h>
#include <linux/seccomp.h>

#include "exports.h"
#include "reentry.h"

/* ---- children -------------------------------------------------------- */

EXPORT pid_t fork(void) {
    uint32_t barred = process_forks();
    return process_forked(WITH_ROOM(pid_t, REAL(fork)(), result < 0 && errno == EAGAIN), barred);
}
ALSO(__fork, fork)
ALSO(__libc_fork, fork)

/* It runs no atfork handler: in the child even libc's locks stay as they were. */
EXPORT pid_t _Fork(void) {
    uint32_t barred = process_forks();
    pid_t child = WITH_ROOM(pid_t, REAL(_Fork)(), result < 0 && errno == EAGAIN);
    return child ? process_forked(child, barred) : 0;
}

EXPORT int daemon(int stay, int keep_streams) {
    uint32_t barred = process_forks();
    return process_forked(REAL(daemon)(stay, keep_streams), barred);
}

EXPORT pid_t forkpty(int *terminal, char *name, const struct termios *termp, const struct winsize *window) {
    uint32_t barred = process_forks();
    return process_forked(REAL(forkpty)(terminal, name, termp, window), barred);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]) {
    process_runs_program();
    return WITH_ROOM(int, REAL(posix_spawn)(pid, path, actions, attributes, argv, environment),
                     result == EAGAIN);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
    SPAWN(posix_spawnp, pid, file)
EXPORT int pidfd_spawn(int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
    SPAWN(pidfd_spawn, pidfd, path)
EXPORT int pidfd_spawnp(int *pidfd, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
    SPAWN(pidfd_spawnp, pidfd, file)
EXPORT int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int fd, int to)
    FORWARD(shim_given(fd), posix_spawn_file_actions_adddup2, actions, fd, to)

/* A failed fork and a failed command give the same result, and the command must not run twice: make room for
 * the child before the call. */
#define RUN_SHELL(name, ...)                  \
    {                                         \
        process_runs_program();               \
        process_stops_window_for_task();      \
        int status = REAL(name)(__VA_ARGS__); \
        process_restarts_window();            \
        return status;                        \
    }

EXPORT int system(const char *command) RUN_SHELL(system, command)

/* Its shells inherit the descriptors, as those of system(3). */
EXPORT int wordexp(const char *words, wordexp_t *found, int flags) {
    if (flags & WRDE_NOCMD)
        return REAL(wordexp)(words, found, flags);
    RUN_SHELL(wordexp, words, found, flags)
}

EXPORT FILE *popen(const char *command, const char *mode) OPEN_PIPE(popen)
ALSO(_IO_popen, popen)
EXPORT int pclose(FILE *stream) FORWARD(hold_end_turn(PUSH_WAIT), pclose, stream)

/* ---- new programs ---------------------------------------------------- */

#define RUN(before, name, ...)                       \
    {                                                \
        before;                                      \
        return process_exec_failed(REAL(name)(__VA_ARGS__)); \
    }

EXPORT int execve(const char *path, char *const argv[], char *const environment[]) {
    process_is_replaced_at(AT_FDCWD, path);
    return process_exec_failed(REAL(execve)(path, argv, environment));
}
EXPORT int execv(const char *path, char *const argv[])
    RUN(process_is_replaced_at(AT_FDCWD, path), execv, path, argv)
EXPORT int execvp(const char *file, char *const argv[])
    RUN(process_is_replaced_by(file), execvp, file, argv)
EXPORT int execvpe(const char *file, char *const argv[], char *const environment[])
    RUN(process_is_replaced_by(file), execvpe, file, argv, environment)
EXPORT int fexecve(int fd, char *const argv[], char *const environment[])
    RUN(process_is_replaced_at(fd, NULL), fexecve, fd, argv, environment)
EXPORT int execveat(int directory, const char *path, char *const argv[], char *const environment[],
                    int flags)
    RUN(process_is_replaced_at(directory, flags & AT_EMPTY_PATH ? NULL : path),
        execveat, directory, path, argv, environment, flags)

/* The body of execl and its like: `call` gets the arguments as an array on the caller's stack (no malloc:
 * these calls are async-signal-safe, signal-safety(7)). */
#define RUN_LIST(call)                                     \
    {                                                      \
        va_list list;                                      \
        size_t count = 1;                                  \
        va_start(list, first);                             \
        while (va_arg(list, const char *))                 \
            count++;                                       \
        va_end(list);                                      \
        char **argv = alloca((count + 1) * sizeof(*argv)); \
        va_start(list, first);                             \
        argv[0] = (char *)(uintptr_t)first;                \
        for (size_t i = 1; i <= count; i++)                \
            argv[i] = va_arg(list, char *);                \
        int result = call;                                 \
        va_end(list);                                      \
        return result;                                     \
    }

EXPORT int execl(const char *path, const char *first, ...) RUN_LIST(execv(path, argv))
EXPORT int execlp(const char *file, const char *first, ...) RUN_LIST(execvp(file, argv))
EXPORT int execle(const char *path, const char *first, ...)
    RUN_LIST(execve(path, argv, va_arg(list, char **)))

/* ---- the end --------------------------------------------------------- */

EXPORT void exit(int status) END(hold_end_turn(PUSH_PROCESS), exit, status)
EXPORT void _exit(int status) END(process_ends(), _exit, status)
EXPORT void _Exit(int status) END(process_ends(), _Exit, status)
EXPORT void quick_exit(int status) END(process_ends(), quick_exit, status)
EXPORT void abort(void) END(process_ends(), abort)
EXPORT void pthread_exit(void *result) END(process_thread_ends(), pthread_exit, result)
EXPORT void thrd_exit(int result) END(process_thread_ends(), thrd_exit, result)

/* These may leave a signal handler. */
#define JUMP(name) END(reentry_abandon(), name, environment, value)

EXPORT void longjmp(struct __jmp_buf_tag environment[1], int value) JUMP(longjmp)
EXPORT void _longjmp(struct __jmp_buf_tag environment[1], int value) JUMP(_longjmp)
EXPORT void siglongjmp(struct __jmp_buf_tag environment[1], int value) JUMP(siglongjmp)
EXPORT void __longjmp_chk(struct __jmp_buf_tag environment[1], int value) JUMP(__longjmp_chk)

/* ---- threads ---------------------------------------------------------- */

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *argument)
    CREATE(result == EAGAIN, pthread_create, thread, attributes, start, argument)
EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
    CREATE(result != thrd_success, thrd_create, thread, start, argument)

/* Only some flags use the arguments after `argument`.  A child that runs on our memory while we wait is
 * like one of vfork; it has a stack of its own, so it does not overwrite this frame. */
EXPORT int clone(int (*run)(void *), void *stack, int flags, void *argument, ...) {
    const int sharing = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_SETTLS | CLONE_THREAD;
    bool waits = (flags & sharing) == (CLONE_VM | CLONE_VFORK) && unstall_vfork_begins();
    va_list list;
    va_start(list, argument);
    pid_t *parent_id = va_arg(list, pid_t *);
    void *storage = va_arg(list, void *);
    pid_t *child_id = va_arg(list, pid_t *);
    va_end(list);
    uint32_t barred = waits ? 0 : process_clones((unsigned long)flags);
    int child =
        WITH_ROOM(int, REAL(clone)(run, stack, flags, argument, parent_id, storage, child_id),
                  result < 0 && errno == EAGAIN);
    if (waits)
        unstall_vfork_returned();
    return process_forked(child, barred);
}
ALSO(__clone, clone)

/* ---- rights: libc's names of the calls in rights.def ------------------------ */

/* libc makes some of them in each thread that it knows (nptl(7)); it usually does not know the window's
 * thread.  The body of one, as the call `number` with this first argument. */
#define CHANGE(number, first, call)                                        \
    {                                                                      \
        uint32_t barred = rights_change((number), (unsigned long)(first)); \
        int changed = (call);                                              \
        rights_changed(barred);                                            \
        return changed;                                                    \
    }

EXPORT int unshare(int flags) CHANGE(SYS_unshare, flags, REAL(unshare)(flags))
EXPORT int setns(int fd, int type) CHANGE(SYS_setns, fd, REAL(setns)(fd, type))
EXPORT int setuid(uid_t user) CHANGE(SYS_setuid, user, REAL(setuid)(user))
EXPORT int seteuid(uid_t user) CHANGE(SYS_setresuid, -1, REAL(seteuid)(user))
EXPORT int setreuid(uid_t real, uid_t effective) CHANGE(SYS_setreuid, real, REAL(setreuid)(real, effective))
EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
    CHANGE(SYS_setresuid, real, REAL(setresuid)(real, effective, saved))
EXPORT int setgid(gid_t group) CHANGE(SYS_setgid, group, REAL(setgid)(group))
EXPORT int setegid(gid_t group) CHANGE(SYS_setresgid, -1, REAL(setegid)(group))
EXPORT int setregid(gid_t real, gid_t effective) CHANGE(SYS_setregid, real, REAL(setregid)(real, effective))
EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved)
    CHANGE(SYS_setresgid, real, REAL(setresgid)(real, effective, saved))
EXPORT int setgroups(size_t count, const gid_t *groups)
    CHANGE(SYS_setgroups, count, REAL(setgroups)(count, groups))
EXPORT int initgroups(const char *name, gid_t group) CHANGE(SYS_setgroups, 0, REAL(initgroups)(name, group))
EXPORT int setfsuid(uid_t user) CHANGE(SYS_setfsuid, user, REAL(setfsuid)(user))
EXPORT int setfsgid(gid_t group) CHANGE(SYS_setfsgid, group, REAL(setfsgid)(group))
EXPORT int capset(void *header, const void *data) CHANGE(SYS_capset, 0, REAL(capset)(header, data))
EXPORT int personality(unsigned long persona) CHANGE(SYS_personality, persona, REAL(personality)(persona))

EXPORT int prctl(int option, ...) {
    va_list list;
    unsigned long a[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP) {
        process_filters(a[0] == SECCOMP_MODE_STRICT);
    } else if (option == PR_SET_SYSCALL_USER_DISPATCH && a[0] != PR_SYS_DISPATCH_OFF) {
        process_dispatches(a[0] == PR_SYS_DISPATCH_ON ? a[1] : 0,
                           a[0] == PR_SYS_DISPATCH_ON ? a[2] : 0);
    } else {
        if (option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV)
            process_loses_counter();
        CHANGE(SYS_prctl, option, REAL(prctl)(option, a[0], a[1], a[2], a[3]))
    }
    int result = REAL(prctl)(option, a[0], a[1], a[2], a[3]);
    process_filtered(result == 0);
    return result;
}
#ifdef WITH_TIME64
ALSO(__prctl_time64, prctl)
#endif

/* ---- signals ---------------------------------------------------------- */

/* One may stop or end this process.  In mode coalesce the calling thread's buffered bytes are sent first.  In
 * the other modes the bytes are in the kernel already. */
#define SIGNAL(name, ...) FORWARD(hold_before_signal(), name, __VA_ARGS__)

EXPORT int kill(pid_t pid, int number) SIGNAL(kill, pid, number)
EXPORT int killpg(pid_t group, int number) SIGNAL(killpg, group, number)
EXPORT int raise(int number) SIGNAL(raise, number)
ALSO(gsignal, raise)
EXPORT int sigqueue(pid_t pid, int number, const union sigval value) SIGNAL(sigqueue, pid, number, value)
EXPORT int tgkill(pid_t group, pid_t thread, int number) {
    uint32_t barred = rights_signal(thread);
    hold_before_signal();
    int result = REAL(tgkill)(group, thread, number);
    rights_changed(barred);
    return result;
}
EXPORT int pthread_kill(pthread_t thread, int number) SIGNAL(pthread_kill, thread, number)
EXPORT int pthread_sigqueue(pthread_t thread, int number, const union sigval value)
    SIGNAL(pthread_sigqueue, thread, number, value)
EXPORT int pidfd_send_signal(int pidfd, int number, siginfo_t *info, unsigned flags)
    SIGNAL(pidfd_send_signal, pidfd, number, info, flags)
