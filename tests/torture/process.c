/* SPDX-License-Identifier: MIT
 *
 * Children: forked ones that go on with a link which the parent leaves, and
 * programs that are run.
 */
#include <spawn.h>
#include <sys/wait.h>

#include "torture.h"

enum { CHILDREN = 32 };

static pid_t children[CHILDREN]; /* a slot is taken by compare and exchange */

static void wait_for(struct actor *a, pid_t pid, const char *what) {
    int status;
    pid_t ended;
    while ((ended = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
        ;
    if (ended != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        violation(a, NULL, "%s %d: waitpid returned %d (%s), status %x", what, pid, ended,
                  ended < 0 ? strerror(errno) : "", (unsigned)status);
}

void children_wait(struct actor *a) {
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = __atomic_exchange_n(&children[i], 0, __ATOMIC_RELAXED);
        if (pid > 0)
            wait_for(a, pid, "child");
    }
}

static bool keep_child(pid_t pid) {
    for (int i = 0; i < CHILDREN; i++) {
        pid_t none = 0;
        if (__atomic_compare_exchange_n(&children[i], &none, pid, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

/* ThreadSanitizer takes threads of the parent that have ended and are not joined yet for the child's own. */
__attribute__((noinline, no_sanitize("thread"))) static void become_child(struct actor *a) {
    a->child = true;
    a->number = (uint16_t)(a->number + 100);
    a->random ^= UINT64_C(0x5555);
    alarms = false; /* timers are not inherited */
}

__attribute__((noreturn)) static void child_lives(struct actor *a, struct link *link, bool bare) {
    become_child(a);
    close(a->pipe[0]); /* the pipe's bytes are the parent's */
    close(a->pipe[1]);
    if (pipe2(a->pipe, O_CLOEXEC) != 0)
        violation(a, link, "pipe: %s", strerror(errno));
    for (int left = 1 + (int)below(a, 8); left > 0; left--)
        if (!operate_on(a, link))
            _exit(0);
    link_settle(a, link);
    link_write_tail(a, link);
    __atomic_store_n(&link->ending, CLEAN, __ATOMIC_RELEASE);
    note(a, link, "child ends");
    switch (below(a, 4)) {
    case 0:
        close_somehow(a, link);
        _exit(0);
    case 1:
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    case 2:
        if (!bare && open_streams == 0) /* _Fork() leaves stdio's locks as they were */
            exit(0);
        _exit(0);
    default:
        _exit(0);
    }
}

/* The child goes on with the link, the parent leaves it. */
bool op_fork(struct actor *a, struct link *link) {
    struct timespec later = {.tv_nsec = 3000000};
    bool bare = once_in(a, 3) && !(without & WITHOUT_BARE_FORK);
    int fd = link->fd; /* the child may move it */
    if (a->child)
        return true;
    put_all(a, link, 1 + below(a, 200), 0);
    note(a, link, bare ? "_Fork" : "fork");
    __atomic_store_n(&had_children, true, __ATOMIC_RELEASE);
    pid_t pid = bare ? _Fork() : fork();
    if (pid < 0)
        violation(a, link, "fork: %s", strerror(errno));
    if (pid == 0)
        child_lives(a, link, bare);
    if (once_in(a, 3))
        nanosleep(&later, NULL);
    if (close(fd) != 0)
        violation(a, link, "close after fork: %s", strerror(errno));
    if (!keep_child(pid))
        wait_for(a, pid, "child");
    return false;
}

/* ---- programs -------------------------------------------------------- */

static pid_t run_by_vfork(const struct link *link) {
    int fd = link->fd;
    pid_t pid = vfork();
    if (pid == 0) {
        close(fd); /* in the parent's memory: its state must not see it */
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    return pid;
}

static pid_t run_by_spawn(const struct link *link) {
    static char name[] = "true";
    char *words[] = {name, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclose(&actions, link->fd);
    posix_spawn_file_actions_adddup2(&actions, 2, 5);
    if (posix_spawn(&pid, "/bin/true", &actions, NULL, words, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

void op_run_program(struct actor *a, struct link *link) {
    if (a->child)
        return;
    put_all(a, link, 1 + below(a, 200), 0);
    uint32_t how = below(a, 3);
    note(a, link, "run %u", how);
    __atomic_store_n(&had_children, true, __ATOMIC_RELEASE);
    if (how == 2) {
        int status = system("true");
        if (status != 0 && !(alarms && status == -1 && errno == EINTR))
            violation(a, link, "system: %x %s", (unsigned)status, strerror(errno));
    } else {
        pid_t pid = how == 0 ? run_by_vfork(link) : run_by_spawn(link);
        if (pid < 0)
            violation(a, link, "no program: %s", strerror(errno));
        if (once_in(a, 2))
            put_all(a, link, 1 + below(a, 200), 0);
        wait_for(a, pid, "program");
    }
    put_all(a, link, 1 + below(a, 200), 0);
}
