/* SPDX-License-Identifier: MIT
 *
 * Changes the rights of the calling thread, in the middle of a message, by libc's name or by syscall(2):
 * every thread that the program did not start itself must have the caller's rights afterwards.
 *
 * Usage: PROGRAM ADDRESS PORT COUNT HOW [thread].  With `thread` the program has a thread of its own.
 * Prints `had`: tasks not the program's own before the call; `stayed`: the number of them after it; `has`:
 * such tasks after more exchanges; `differ`: the number of them with other rights than the caller's.
 */
#include "confined.h"
#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <sys/fsuid.h>
#include <sys/personality.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

enum { NOBODY = 65534, JOIN_SESSION_KEYRING = 1, SETS_AMBIENT_NONE = 4, TASKS = 16 };

extern int capset(void *header, const void *data);

/* ---- the changes ------------------------------------------------------ */

static bool raw_form;

#define BOTH(name, ...) (raw_form ? (int)syscall(SYS_##name, __VA_ARGS__) : (int)name(__VA_ARGS__))
#define CHANGE(name, ...)                                                                          \
    static int change_##name(void)                                                                 \
    {                                                                                              \
        return BOTH(name, __VA_ARGS__);                                                            \
    }
#define OF_PRCTL(name, ...)                                                                        \
    static int change_##name(void)                                                                 \
    {                                                                                              \
        return BOTH(prctl, __VA_ARGS__);                                                           \
    }
/* libc has no name for it, or the kernel has no call of it */
#define BY_SYSCALL(name, ...)                                                                      \
    static int change_##name(void)                                                                 \
    {                                                                                              \
        return (int)syscall(SYS_##name, __VA_ARGS__);                                              \
    }
#define BY_LIBC(name, ...)                                                                         \
    static int change_##name(void)                                                                 \
    {                                                                                              \
        return name(__VA_ARGS__);                                                                  \
    }

static struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
static struct __user_cap_data_struct none[2];
static const gid_t groups[] = {NOBODY};

CHANGE(capset, &header, none)
CHANGE(personality, ADDR_NO_RANDOMIZE)
CHANGE(setuid, NOBODY)
CHANGE(setgid, NOBODY)
CHANGE(setreuid, NOBODY, NOBODY)
CHANGE(setregid, NOBODY, NOBODY)
CHANGE(setresuid, NOBODY, NOBODY, NOBODY)
CHANGE(setresgid, NOBODY, NOBODY, NOBODY)
CHANGE(setgroups, 1, groups)
CHANGE(setfsuid, NOBODY)
CHANGE(setfsgid, NOBODY)
BY_LIBC(seteuid, NOBODY)
BY_LIBC(setegid, NOBODY)
BY_LIBC(initgroups, "nobody", NOBODY)
CHANGE(unshare, CLONE_NEWNS)
OF_PRCTL(no_new_privs, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
OF_PRCTL(capbset_drop, PR_CAPBSET_DROP, CAP_SYS_TIME, 0, 0, 0)
OF_PRCTL(cap_ambient, PR_CAP_AMBIENT, SETS_AMBIENT_NONE, 0, 0, 0)
OF_PRCTL(securebits, PR_SET_SECUREBITS, 1, 0, 0, 0)
OF_PRCTL(keepcaps, PR_SET_KEEPCAPS, 1, 0, 0, 0)
BY_SYSCALL(keyctl, JOIN_SESSION_KEYRING, 0, 0, 0, 0)

static int change_setns(void) {
    int fd = open("/proc/self/ns/uts", O_RDONLY);
    CHECK(fd >= 0);
    int result = BOTH(setns, fd, CLONE_NEWUTS);
    close(fd);
    return result;
}

static int change_landlock(void) {
    uint64_t handled = 1; /* LANDLOCK_ACCESS_FS_EXECUTE */
    int fd = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (fd < 0) return 0; /* a kernel without it */
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    return (int)syscall(SYS_landlock_restrict_self, fd, 0);
}

#define ROW(name) {#name, change_##name}
static const struct change {
    const char *name;
    int (*make)(void);
} changes[] = {
    ROW(capset),       ROW(personality),  ROW(setuid),      ROW(setgid),    ROW(setreuid),   ROW(setregid),
    ROW(setresuid),    ROW(setresgid),    ROW(setgroups),   ROW(setfsuid),  ROW(setfsgid),   ROW(seteuid),
    ROW(setegid),      ROW(initgroups),   ROW(unshare),     ROW(setns),     ROW(no_new_privs),
    ROW(capbset_drop), ROW(cap_ambient),  ROW(securebits),  ROW(keepcaps),  ROW(keyctl),     ROW(landlock),
};

/* ---- the tasks --------------------------------------------------------- */

static pid_t own[2];

/* The tasks that are not the program's own. */
static int foreign_tasks(pid_t *tasks) {
    DIR *folder = opendir("/proc/self/task");
    CHECK(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        pid_t task = atoi(entry->d_name);
        if (task > 0 && task != own[0] && task != own[1] && count < TASKS) tasks[count++] = task;
    }
    closedir(folder);
    return count;
}

/* A task's rights in /proc, as one text. */
static void rights(pid_t task, char *text, size_t size) {
    static const char *const told[] = {"Uid:", "Gid:", "Groups:", "Cap", "NoNewPrivs:", "Seccomp:"};
    char name[64], line[512];
    FILE *file;
    text[0] = '\0';
    for (int part = 0; part < 2; part++) {
        snprintf(name, sizeof name, "/proc/self/task/%d/%s", task, part ? "personality" : "status");
        if (!(file = fopen(name, "r"))) continue;
        while (fgets(line, sizeof line, file))
            for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
                if (part || strncmp(line, told[i], strlen(told[i])) == 0) {
                    snprintf(text + strlen(text), size - strlen(text), "%s", line);
                    break;
                }
        fclose(file);
    }
}

static int differing(void) {
    char mine[4096], others[4096];
    pid_t tasks[TASKS];
    int count = foreign_tasks(tasks), differ = 0;
    rights(own[0], mine, sizeof mine);
    for (int i = 0; i < count; i++) {
        rights(tasks[i], others, sizeof others);
        differ += strcmp(mine, others) != 0;
    }
    return differ;
}

/* ---- the middle of the message ----------------------------------------- */

static const struct change *chosen;
static int had, stayed, result;

static void begin(void) {
    pid_t before[TASKS], after[TASKS];
    had = foreign_tasks(before);
    errno = 0;
    result = chosen->make();
    confined_errno = result == -1 ? errno : 0;
    int now = foreign_tasks(after);
    for (int i = 0; i < had; i++)
        for (int j = 0; j < now; j++) stayed += before[i] == after[j];
}

static void *sleeper(void *unused) {
    own[1] = (pid_t)syscall(SYS_gettid);
    sleep(20);
    return unused;
}

int main(int argc, char **argv) {
    CHECK(argc >= 5);
    client_t client = client_arguments(argc, argv);
    raw_form = strncmp(argv[4], "syscall-", 8) == 0;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        if (strcmp(changes[i].name, argv[4] + (raw_form ? 8 : 0)) == 0) chosen = &changes[i];
    CHECK(chosen);
    own[0] = getpid();
    pthread_t thread;
    if (argc > 5) {
        CHECK(pthread_create(&thread, NULL, sleeper, NULL) == 0);
        while (!__atomic_load_n(&own[1], __ATOMIC_SEQ_CST)) usleep(1000);
    }
    int fd = connect_to(client), half = client.count / 2;
    bool loaded = library_is_loaded();
    char line[300];
    pid_t tasks[TASKS];
    long before = median_us(fd, 0, half);
    exchange_us(fd, half, begin);
    usleep(150000); /* no thread of ours starts for 100 ms */
    long after = median_us(fd, half + 1, client.count - half - 1);
    int length = snprintf(
        line, sizeof line,
        "{\"loaded\": %s, \"before_us\": %ld, \"after_us\": %ld, \"errno\": %d, \"result\": %d, "
        "\"had\": %d, \"stayed\": %d, \"has\": %d, \"differ\": %d}\n",
        loaded ? "true" : "false", before, after, confined_errno, result, had, stayed,
        foreign_tasks(tasks), differing());
    CHECK(write(STDOUT_FILENO, line, (size_t)length) == length);
    _exit(0);
}
