/* SPDX-License-Identifier: MIT
 *
 * RLIMIT_NPROC leaves room for one more task, which is made in the middle of a message.  The user is one of
 * its own, because the limit counts all tasks of a user; and not root, because the limit does not bind root.
 *
 * Usage: PROGRAM ADDRESS PORT COUNT [alone-]HOW.  `alone-`: without a thread of its own.
 */
#include "confined.h"
#include <grp.h>
#include <spawn.h>

enum { FIRST_USER = 200000, STACK = 65536 };

/* The definitions of programs that were linked long ago. */
#define OLDER(kind, name, version)        \
    extern __typeof__(name) kind##_##name; \
    __asm__(".symver " #kind "_" #name ", " #name "@" version);
#ifdef __x86_64__
OLDER(older, posix_spawn, "GLIBC_2.2.5")
OLDER(older, posix_spawnp, "GLIBC_2.2.5")
#elif defined(__i386__)
OLDER(older, posix_spawn, "GLIBC_2.2")
OLDER(older, posix_spawnp, "GLIBC_2.2")
OLDER(older, popen, "GLIBC_2.0")
OLDER(older, pclose, "GLIBC_2.0")
OLDER(older, pthread_create, "GLIBC_2.0")
OLDER(later, pthread_create, "GLIBC_2.1")
#endif
#ifndef __i386__
#define older_popen          popen
#define older_pclose         pclose
#define older_pthread_create pthread_create
#define later_pthread_create pthread_create
#endif
#if !defined(__i386__) && !defined(__x86_64__)
#define older_posix_spawn  posix_spawn
#define older_posix_spawnp posix_spawnp
#endif

extern char **environ;

static char *const words[] = {(char *)(uintptr_t)"/bin/true", NULL};

static void ended(pid_t child) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void by_fork(void) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    ended(child);
}

static void by_Fork(void) {
    pid_t child = _Fork();
    if (child == 0) _exit(0);
    ended(child);
}

static int nothing_to_do(void *unused) {
    (void)unused;
    return 0;
}

static void by_clone(void) {
    static char stack[STACK] __attribute__((aligned(16)));
    ended(clone(nothing_to_do, stack + STACK, SIGCHLD, NULL));
}

#define SPAWNS(way, call, name)                                           \
    static void way(void)                                                 \
    {                                                                     \
        pid_t child;                                                      \
        CHECK(call(&child, name, NULL, NULL, words, environ) == 0);       \
        ended(child);                                                     \
    }

SPAWNS(by_spawn, posix_spawn, words[0])
SPAWNS(by_spawnp, posix_spawnp, "true")
SPAWNS(by_older_spawn, older_posix_spawn, words[0])
SPAWNS(by_older_spawnp, older_posix_spawnp, "true")

static void by_popen(void) {
    FILE *stream = popen("exit 0", "r");
    CHECK(stream && pclose(stream) == 0);
}

static void by_older_popen(void) {
    FILE *stream = older_popen("exit 0", "r");
    CHECK(stream && older_pclose(stream) == 0);
}

static void by_system(void) {
    CHECK(system("exit 0") == 0);
}

static void *nothing(void *unused) {
    return unused;
}

#define CREATES(way, call)                                                                       \
    static void way(void)                                                                       \
    {                                                                                           \
        pthread_t thread;                                                                       \
        CHECK(call(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);      \
    }

CREATES(by_pthread_create, pthread_create)
CREATES(by_older_pthread_create, older_pthread_create)
CREATES(by_later_pthread_create, later_pthread_create)

static void *sleeper(void *unused) {
    sleep(20);
    return unused;
}

int main(int argc, char **argv) {
    static const struct confinement known[] = {
        {"fork", by_fork},     {"_Fork", by_Fork}, {"clone", by_clone},
        {"posix_spawn", by_spawn}, {"posix_spawnp", by_spawnp}, {"popen", by_popen}, {"system", by_system},
        {"pthread_create", by_pthread_create}, {"older posix_spawn", by_older_spawn},
        {"older posix_spawnp", by_older_spawnp}, {"older popen", by_older_popen},
        {"older pthread_create", by_older_pthread_create}, {"later pthread_create", by_later_pthread_create},
    };
    uid_t user = FIRST_USER + (uid_t)getpid();
    CHECK(argc == 5);
    bool alone = strncmp(argv[4], "alone-", 6) == 0;
    rlim_t tasks = alone ? 1 : 2;
    struct rlimit room = {tasks + 1, tasks + 1};
    pthread_t thread;
    CHECK(setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0);
    CHECK(alone || pthread_create(&thread, NULL, sleeper, NULL) == 0);
    argv[4] += alone ? 6 : 0;
    CHECK(setrlimit(RLIMIT_NPROC, &room) == 0);
    return confined_main(argc, argv, known, sizeof known / sizeof known[0]);
}
