/* SPDX-License-Identifier: MIT
 *
 * Forks, new programs, ends.  Forward only: the path is process.c.  vfork and
 * syscall are in jump.S.
 */
#include <alloca.h>

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

EXPORT pid_t forkpty(int *terminal, char *name, const struct termios *termp,
                     const struct winsize *window) {
    uint32_t barred = process_forks();
    return process_forked(REAL(forkpty)(terminal, name, termp, window), barred);
}

EXPORT SPAWNS(posix_spawn)
EXPORT SPAWNS(posix_spawnp)
EXPORT SPAWNS(pidfd_spawn)
EXPORT SPAWNS(pidfd_spawnp)
EXPORT FORWARD(shim_given(fd), int, posix_spawn_file_actions_adddup2,
               (posix_spawn_file_actions_t * actions, int fd, int to), (actions, fd, to))

/* A failed fork and a failed command give the same result, and the command must not run twice: make room for
 * the child before the call. */
EXPORT int system(const char *command) {
    process_runs_program();
    process_makes_room();
    int status = REAL(system)(command);
    process_goes_on();
    return status;
}

/* Its shells inherit the descriptors, as those of system(3). */
EXPORT int wordexp(const char *words, wordexp_t *found, int flags) {
    if (flags & WRDE_NOCMD)
        return REAL(wordexp)(words, found, flags);
    process_runs_program();
    process_makes_room();
    int error = REAL(wordexp)(words, found, flags);
    process_goes_on();
    return error;
}

EXPORT OPENS_PIPE(popen)
ALSO(_IO_popen, popen)

EXPORT FORWARD(hold_end_turn(PUSH_WAIT), int, pclose, (FILE * stream), (stream))

/* ---- new programs ---------------------------------------------------- */

#define RUNS(before, name, parameters, arguments)   \
    EXPORT int name parameters {                    \
        before;                                     \
        return process_stays(REAL(name) arguments); \
    }

RUNS(process_is_replaced(path), execve, (const char *path, char *const argv[], char *const environment[]),
     (path, argv, environment))
RUNS(process_is_replaced(path), execv, (const char *path, char *const argv[]), (path, argv))
RUNS(process_is_replaced_by(file), execvp, (const char *file, char *const argv[]), (file, argv))
RUNS(process_is_replaced_by(file), execvpe, (const char *file, char *const argv[], char *const environment[]),
     (file, argv, environment))
RUNS(process_is_replaced_at(fd, NULL), fexecve, (int fd, char *const argv[], char *const environment[]),
     (fd, argv, environment))
RUNS(process_is_replaced_at(directory, flags & AT_EMPTY_PATH ? NULL : path), execveat,
     (int directory, const char *path, char *const argv[], char *const environment[], int flags),
     (directory, path, argv, environment, flags))

/* The arguments of execl and similar calls as an array on the caller's stack (no malloc:
 * these calls are async-signal-safe, signal-safety(7)). */
#define COLLECT(first, last, argv)                     \
    size_t count = 1;                                  \
    va_start(last, first);                             \
    while (va_arg(last, const char *))                 \
        count++;                                       \
    va_end(last);                                      \
    char **argv = alloca((count + 1) * sizeof(*argv)); \
    va_start(last, first);                             \
    argv[0] = (char *)(uintptr_t)first;                \
    for (size_t i = 1; i <= count; i++)                \
    argv[i] = va_arg(last, char *)

EXPORT int execl(const char *path, const char *first, ...) {
    va_list list;
    COLLECT(first, list, argv);
    va_end(list);
    return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *first, ...) {
    va_list list;
    COLLECT(first, list, argv);
    va_end(list);
    return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *first, ...) {
    va_list list;
    COLLECT(first, list, argv);
    char **environment = va_arg(list, char **);
    va_end(list);
    return execve(path, argv, environment);
}

/* ---- the end --------------------------------------------------------- */

EXPORT ENDS(hold_end_turn(PUSH_PROCESS), exit, (int status), (status))
EXPORT ENDS(process_ends(), _exit, (int status), (status))
EXPORT ENDS(process_ends(), _Exit, (int status), (status))
EXPORT ENDS(process_ends(), quick_exit, (int status), (status))
EXPORT ENDS(process_ends(), abort, (void), ())
EXPORT ENDS(process_thread_ends(), pthread_exit, (void *result), (result))
EXPORT ENDS(process_thread_ends(), thrd_exit, (int result), (result))

/* calls that may leave a signal handler */
#define JUMPS(name)                                                                        \
    EXPORT ENDS(reentry_abandon(), name, (struct __jmp_buf_tag environment[1], int value), \
                (environment, value))

JUMPS(longjmp)
JUMPS(_longjmp)
JUMPS(siglongjmp)
JUMPS(__longjmp_chk)

/* ---- threads ---------------------------------------------------------- */

EXPORT CREATES(pthread_create)
EXPORT MAKES_THREAD(thrd_create, (thrd_t * thread, thrd_start_t start, void *argument),
                    (thread, start, argument), result != thrd_success)

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
