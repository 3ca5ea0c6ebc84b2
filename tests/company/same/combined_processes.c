/* SPDX-License-Identifier: MIT
 *
 * Processes in the midst of small writes: forks, new programs, and their ends.
 */
#include "combined.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <wordexp.h>
extern char **environ;

CASE(parent_and_child_write_in_turn) {
    for (int i = 0; i < 4; i++) {
        SAY(write(fd, "parent", 6));
        pid_t child = fork();
        if (child == 0) {
            NEED(write(fd, "the child", 9) == 9);
            NEED(write(fd, "again", 5) == 5);
            _exit(i);
        }
        wait_for(child);
        SAY(write(fd, "after it", 8));
    }
}

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

CASE(a_vforked_child_executes) {
    SAY(write(fd, "before", 6));
    char words[40];
    snprintf(words, sizeof words, "echo shell >&%d", fd);
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", words, NULL);
        _exit(9);
    }
    wait_for(child);
    SAY(write(fd, "behind", 6));
    SAY(write(fd, "more", 4));
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

CASE(executed_in_a_child_with_bytes_held) {
    char words[60];
    snprintf(words, sizeof words, "printf shell >&%d; printf twice >&%d", fd, fd);
    pid_t child = fork();
    if (child == 0) {
        NEED(write(fd, "held", 4) == 4);
        NEED(write(fd, "twice", 5) == 5);
        execl("/bin/sh", "sh", "-c", words, NULL);
    }
    wait_for(child);
    SAY(write(fd, "parent", 6));
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

CASE(a_child_ends_in_each_way) {
    static void (*const ways[])(int) = {exit, _exit, quick_exit, _Exit};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        pid_t child = fork();
        if (child == 0) {
            NEED(write(fd, "ends", 4) == 4);
            NEED(write(fd, "now", 3) == 3);
            ways[i]((int)i);
        }
        wait_unseen(child);
    }
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        NEED(write(fd, "aborts", 6) == 6);
        NEED(write(fd, "now", 3) == 3);
        abort();
    }
    wait_unseen(child);
}

static int at_the_end;

static void writes_at_the_end(void) {
    write(at_the_end, "atexit", 6);
    write(at_the_end, "writes", 6);
}

CASE(exit_functions_write) {
    at_the_end = fd;
    pid_t child = fork();
    if (child == 0) {
        atexit(writes_at_the_end);
        NEED(write(fd, "child", 5) == 5);
        exit(0);
    }
    wait_unseen(child);
}

static void before_fork(void) {
    write(at_the_end, "before", 6);
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

/* ---- whose turn it is, a lock says -------------------------------------- */

static struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
static struct flock none = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

enum lock { RECORD, RECORD_OF_FILE, FILE_LOCK };

static int take(int file, enum lock lock, bool wait) {
    if (lock == FILE_LOCK)
        return flock(file, LOCK_EX | (wait ? 0 : LOCK_NB));
    if (lock == RECORD)
        return fcntl(file, wait ? F_SETLKW : F_SETLK, &whole);
    return fcntl(file, wait ? F_OFD_SETLKW : F_OFD_SETLK, &whole);
}

/* In coalesce the child's bytes came before those that its parent had written before `release`. */
#define WRITTEN_UNTIL(name, lock, release)                        \
    CASE(written_until_##name) {                                  \
        char path[40];                                            \
        int file = memfd_create("lock", 0);                       \
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);    \
        for (int i = 0; i < 3; i++) {                             \
            NEED(take(file, lock, false) == 0);                   \
            pid_t child = fork();                                 \
            if (child == 0) {                                     \
                int own = open(path, O_RDWR | O_CLOEXEC);         \
                NEED(own >= 0 && take(own, lock, true) == 0);     \
                NEED(write(fd, "the child's", 11) == 11);         \
                _exit(0);                                         \
            }                                                     \
            SAY(write(fd, "the", 3));                             \
            SAY(write(fd, "parent's", 8));                        \
            SAY(release);                                         \
            wait_unseen(child);                                   \
        }                                                         \
    }

WRITTEN_UNTIL(fcntl, RECORD, fcntl(file, F_SETLK, &none))
WRITTEN_UNTIL(fcntl_of_an_open_file, RECORD_OF_FILE, fcntl(file, F_OFD_SETLK, &none))
WRITTEN_UNTIL(lockf, RECORD, lockf(file, F_ULOCK, 0))
WRITTEN_UNTIL(flock, FILE_LOCK, flock(file, LOCK_UN | LOCK_NB))
WRITTEN_UNTIL(fcntl_by_number, RECORD, syscall(SYS_fcntl, file, F_SETLK, &none))
WRITTEN_UNTIL(flock_by_number, FILE_LOCK, syscall(SYS_flock, file, LOCK_UN | LOCK_NB))
