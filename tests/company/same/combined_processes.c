/* SPDX-License-Identifier: MIT
 *
 * Processes in the midst of small writes: forks, new programs, and their ends.
 */
#include "combined.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <wordexp.h>
extern char **environ;

CASE(a_grandchild_goes_on) {
    SAY(write(fd, "first", 5));
    int ends[2];
    raw2(SYS_pipe2, ends, 0);
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            setsid();
            NEED(write(fd, "grandchild", 10) == 10);
            NEED(write(fd, "goes on", 7) == 7);
            exit(0);
        }
        _exit(0);
    }
    wait_for(child);
    raw1(SYS_close, ends[1]);
    char end;
    raw3(SYS_read, ends[0], &end, 1); /* until the grandchild has ended */
    SAY(write(fd, "last", 4));
}

CASE(a_spawned_program_has_it_as_output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, 1);
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "a", 1));
        SAY(write(fd, "bc", 2));
        pid_t child;
        char *words[] = {"sh", "-c", "printf one; printf two; /bin/echo three", NULL};
        NEED(posix_spawn(&child, "/bin/sh", &actions, NULL, words, environ) == 0);
        wait_for(child);
        SAY(write(fd, "d", 1));
        int value = -1;
        socklen_t length = sizeof value;
        SAY(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length));
        say("TCP_NODELAY is %d", value);
    }
}

/* In coalesce the shell's bytes overtook the buffered ones. */
CASE(expanded_words_run_a_shell) {
    char words[40];
    wordexp_t found;
    snprintf(words, sizeof words, "$(printf shell >&%d)", fd);
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "a", 1));
        SAY(write(fd, "b", 1));
        SAY(wordexp(words, &found, 0));
        wordfree(&found);
        SAY(wordexp(words, &found, WRDE_NOCMD));
        SAY(write(fd, "c", 1));
    }
}

CASE(an_execution_that_fails) {
    SAY(write(fd, "one", 3));
    SAY(execl("/nonexistent/program", "program", NULL));
    SAY(write(fd, "two", 3));
    SAY(write(fd, "three", 5));
}

CASE(a_child_stopped_and_continued) {
    pid_t child = fork();
    if (child == 0) {
        NEED(write(fd, "stop", 4) == 4);
        NEED(write(fd, "stops", 5) == 5);
        raise(SIGSTOP);
        NEED(write(fd, "continues", 9) == 9);
        NEED(write(fd, "ends", 4) == 4);
        _exit(3);
    }
    int status = 0;
    raw4(SYS_wait4, child, &status, WUNTRACED, 0);
    say("stopped: %d", WIFSTOPPED(status));
    kill(child, SIGCONT);
    wait_unseen(child);
}

static int at_the_end;

static void before_fork(void) {
    write(at_the_end, "before", 6);
    write(at_the_end, "it", 2);
}

static void begin_child(void) {
    raw3(SYS_write, at_the_end, "child", 5);
}

/* In coalesce the child's bytes came before those that its parent had written before the fork. */
CASE(a_fork_handler_of_the_child_writes) {
    at_the_end = fd;
    NEED(pthread_atfork(before_fork, NULL, begin_child) == 0);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0)
            raw1(SYS_exit_group, 0);
        wait_unseen(child);
    }
}

static void after_fork(void) {
    write(at_the_end, "after", 5);
}

CASE(fork_handlers_write) {
    at_the_end = fd;
    NEED(pthread_atfork(before_fork, after_fork, NULL) == 0);
    SAY(write(fd, "one", 3));
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    wait_for(child);
    SAY(write(fd, "two", 3));
}

/* ---- what one process writes before it tells another ---------------------- */

/* In coalesce the other's bytes came before those that this process had written before it told. */
static const char *told_path(void) {
    static char path[40];
    if (!path[0])
        snprintf(path, sizeof path, "/tmp/unstall-same.%d", (int)raw0(SYS_getpid));
    return path;
}

static uint32_t *told; /* in memory that the children share */
static int told_file;

static void nothing_is_told(void) {
    if (!told) {
        told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        told_file = memfd_create("told", 0);
    }
    NEED(told != MAP_FAILED && told_file >= 0 && ftruncate(told_file, 0) == 0);
    *told = 0;
    raw1(SYS_close, raw4(SYS_openat, AT_FDCWD, told_path(), O_CREAT | O_WRONLY, 0600));
}

static void writes_then_tells(int fd, void (*tell)(void)) {
    NEED(write(fd, "the", 3) == 3 && write(fd, "first's", 7) == 7);
    tell();
}

static void by_memory(void) {
    __atomic_store_n(told, 1, __ATOMIC_SEQ_CST);
}

static void by_unlink(void) {
    NEED(unlink(told_path()) == 0);
}

static void by_pwrite(void) {
    NEED(pwrite(told_file, "t", 1, 0) == 1);
}

static bool is_told(void (*by)(void)) {
    char byte;
    if (by == by_memory)
        return __atomic_load_n(told, __ATOMIC_SEQ_CST);
    if (by == by_pwrite)
        return raw4(SYS_pread64, told_file, &byte, 1, 0) == 1;
    return raw4(SYS_faccessat, AT_FDCWD, told_path(), F_OK, 0) < 0;
}

static void (*const tells[])(void) = {by_memory, by_pwrite, by_unlink /* the last: no file stays */};
enum { TELLS = sizeof tells / sizeof tells[0] };

CASE(a_child_writes_once_told) {
    for (int i = 0; i < TELLS; i++) {
        nothing_is_told();
        pid_t child = fork();
        if (child == 0) {
            while (!is_told(tells[i]))
                ;
            raw3(SYS_write, fd, "the child's", 11);
            raw1(SYS_exit_group, 0);
        }
        writes_then_tells(fd, tells[i]);
        wait_unseen(child);
    }
}

CASE(a_parent_writes_once_told) {
    for (int i = 0; i < TELLS; i++) {
        nothing_is_told();
        pid_t child = fork();
        if (child == 0) {
            writes_then_tells(fd, tells[i]);
            while (__atomic_load_n(told, __ATOMIC_SEQ_CST) < 2)
                ; /* computes */
            _exit(0);
        }
        while (!is_told(tells[i]))
            ;
        raw3(SYS_write, fd, "the parent's", 12);
        __atomic_store_n(told, 2, __ATOMIC_SEQ_CST);
        wait_unseen(child);
    }
}

/* The words of a shell that writes to `fd` once told. */
static char *const *shell_once_told(int fd) {
    static char line[120], *words[] = {"sh", "-c", line, NULL};
    snprintf(line, sizeof line, "while [ -e %s ]; do :; done; printf shell >&%d", told_path(), fd);
    return words;
}

/* Close-on-exec, once: the program has another descriptor of it. */
static void a_program_writes_once_told(int fd, pid_t (*start)(int fd)) {
    nothing_is_told();
    pid_t child = start(fd);
    writes_then_tells(fd, by_unlink);
    wait_unseen(child);
}

static pid_t spawned(int fd) {
    pid_t child = -1;
    NEED(posix_spawn(&child, "/bin/sh", NULL, NULL, shell_once_told(fd), environ) == 0);
    return child;
}

enum { ANOTHER = 9 };

static pid_t spawned_on_another(int fd) {
    pid_t child = -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    NEED(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
    posix_spawn_file_actions_adddup2(&actions, fd, ANOTHER);
    NEED(posix_spawn(&child, "/bin/sh", &actions, NULL, shell_once_told(ANOTHER), environ) == 0);
    return child;
}

static pid_t vforked(int fd) {
    char *const *words = shell_once_told(fd);
    pid_t child = vfork();
    if (child == 0) {
        execv("/bin/sh", words);
        _exit(9);
    }
    return child;
}

static pid_t vforked_on_another(int fd) {
    char *const *words = shell_once_told(ANOTHER);
    NEED(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
    pid_t child = vfork();
    if (child == 0) {
        dup2(fd, ANOTHER);
        execv("/bin/sh", words);
        _exit(9);
    }
    return child;
}

CASE(a_spawned_program_writes_once_told) {
    a_program_writes_once_told(fd, spawned);
}

CASE(a_program_spawned_on_another_number_writes_once_told) {
    a_program_writes_once_told(fd, spawned_on_another);
}

#ifdef __x86_64__
static const long kept = 0x6b6570742d627824, trap = 1 << 8;
static const void *stepping;    /* where the case goes on after its steps */
static const long *steps_stack; /* the top of the stack there */
static bool steps_end;
static long lost, hidden; /* instructions from which these are not found: the place, `kept` */

/* As the handler of a profiler, and of a collector that looks for pointers. */
static void look(int number UNUSED, siginfo_t *info UNUSED, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (steps_end) {
        registers[REG_EFL] &= ~trap;
        return;
    }
    void *found[40];
    int count = backtrace(found, 40), at = 0;
    while (at < count && found[at] != stepping)
        at++;
    lost += at == count;
    bool is_there = false;
    for (int i = 0; i < NGREG; i++)
        is_there |= registers[i] == kept;
    for (const long *word = (long *)registers[REG_RSP]; word < steps_stack; word++)
        is_there |= *word == kept;
    hidden += !is_there;
}

static __attribute__((noinline)) void vfork_in_steps(void) {
    stepping = __builtin_return_address(0);
    unsigned long long flags = __builtin_ia32_readeflags_u64();
    __asm__ volatile("mov %%rsp, %0; mov %1, %%rbx" : "=m"(steps_stack) : "m"(kept) : "rbx");
    __builtin_ia32_writeeflags_u64(flags | trap);
    volatile pid_t child = vfork();
    if (child == 0)
        _exit(0);
    syscall(SYS_getppid);
    steps_end = true;
    wait_for(child);
}

CASE(handlers_look_at_each_instruction) {
    const struct sigaction looks = {.sa_sigaction = look, .sa_flags = SA_SIGINFO};
    backtrace(&(void *){NULL}, 1); /* libc loads the unwinder */
    sigaction(SIGTRAP, &looks, NULL);
    vfork_in_steps();
    say("at %ld instructions the place is lost, at %ld the object", lost, hidden);
}
#endif

CASE(a_vforked_program_writes_once_told) {
    a_program_writes_once_told(fd, vforked);
}

CASE(a_program_vforked_on_another_number_writes_once_told) {
    a_program_writes_once_told(fd, vforked_on_another);
}

/* Made after the fork, and passed on by SCM_RIGHTS. */
CASE(a_child_is_passed_it_and_writes_once_told) {
    int ends[2];
    nothing_is_told();
    NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        int theirs = passed(ends[1], true);
        while (!is_told(by_memory))
            ;
        raw3(SYS_write, theirs, "the child's", 11);
        raw1(SYS_exit_group, 0);
    }
    int made = connection();
    for (int i = 0; i < 3; i++)
        exchange(made);
    SAY(pass(ends[0], made));
    writes_then_tells(made, by_memory);
    wait_unseen(child);
    close(made);
    by_unlink();
}
