/* SPDX-License-Identifier: MIT */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "array.h"
#include "config.h"
#include "errors.h"
#include "library.h"
#include "obstacles.h"

extern char **environ;

/* ---- options --------------------------------------------------------- */

static const struct {
    const char *option, *variable;
    const char *fixed; /* the value of an option that takes none */
    bool is_path;
} settings[] = {
    {"--mode", "UNSTALL_MODE", NULL, false},
    {"--window", "UNSTALL_WINDOW_US", NULL, false},
    {"--small", "UNSTALL_SMALL", NULL, false},
    {"--thread", "UNSTALL_THREAD", NULL, false},
    {"--nodelay", "UNSTALL_NODELAY", NULL, false},
    {"--quickack", "UNSTALL_QUICKACK", NULL, false},
    {"--override", "UNSTALL_OVERRIDE", "1", false},
    {"--ports", "UNSTALL_PORTS", NULL, false},
    {"--peers", "UNSTALL_PEERS", NULL, false},
    {"--programs", "UNSTALL_PROGRAMS", NULL, false},
    {"--no-children", "UNSTALL_CHILDREN", "0", false},
    {"--stats", "UNSTALL_STATS", NULL, true},
    {"--no-stacks", "UNSTALL_STACKS", "0", false},
    {"--report", "UNSTALL_REPORT", NULL, true},
    {"--log", "UNSTALL_LOG", NULL, true},
    {"--verbose", "UNSTALL_VERBOSE", NULL, false},
};

void launch_set(const char *name, const char *value) {
    if (setenv(name, value, 1) != 0)
        exit(complain("%s: %s", name, strerror(errno)));
}

/* An absolute path: the program may change its folder before it writes there. */
static const char *whole_path(const char *value) {
    static char whole[2 * PATH_MAX];
    char here[PATH_MAX];
    if (!value[0] || value[0] == '/' || strcmp(value, "stderr") == 0 || !getcwd(here, sizeof(here)))
        return value;
    snprintf(whole, sizeof(whole), "%s/%s", here, value);
    return whole;
}

/* The library checks the folder too (stats_file.c), but its warning may go to a log. */
static void check_stats(const char *folder) {
    static const char way[] = "make one by mkdir -m 700 /dev/shm/unstall";
    struct stat st;
    struct statfs fs;
    if (lstat(folder, &st) != 0)
        exit(complain("--stats %s: %s; %s", folder, strerror(errno), way));
    if (!S_ISDIR(st.st_mode))
        exit(complain("--stats %s: is not a directory; %s", folder, way));
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
        exit(complain("--stats %s: must belong to you, and no other user may write to it; %s",
                      folder, way));
    if (statfs(folder, &fs) != 0 || fs.f_type != TMPFS_MAGIC)
        exit(complain("--stats %s: is not on tmpfs, and writing pages back to a disk could block "
                      "the program; %s",
                      folder, way));
}

/* Checks by the library's own parser, so that both accept the same values. */
static void check(const char *option, const char *variable, const char *value) {
    static struct config scratch;
    const char *expected = NULL;
    enum config_result result = config_set(&scratch, variable, value, &expected);
    if (result == CONFIG_BAD)
        exit(complain("%s %s: expected %s", option, value, expected));
    if (result == CONFIG_UNKNOWN)
        exit(complain("%s: this build does not know %s", option, variable));
}

bool launch_option(struct launch *l, struct args *a) {
    const char *value = NULL;
    if (args_value(a, "--library", &l->library))
        return true;
    if (args_flag(a, "--force"))
        return l->force = true;
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        value = settings[i].fixed;
        bool taken =
            value ? args_flag(a, settings[i].option) : args_value(a, settings[i].option, &value);
        if (!taken)
            continue;
        if (settings[i].is_path)
            value = whole_path(value);
        check(settings[i].option, settings[i].variable, value);
        if (strcmp(settings[i].variable, "UNSTALL_STATS") == 0)
            check_stats(value);
        launch_set(settings[i].variable, value);
        return true;
    }
    return false;
}

/* ---- LD_PRELOAD ------------------------------------------------------ */

static bool is_ours(const char *entry, size_t length) {
    static const char name[] = "libunstall.so";
    size_t n = sizeof(name) - 1;
    return length >= n && memcmp(entry + length - n, name, n) == 0 &&
           (length == n || entry[length - n - 1] == '/');
}

/* Keeps the user's own libraries, before ours: a sanitizer's must be the first, and calls that pass through
 * another library are part of the program.  Another libunstall.so is removed. */
static int preload(const char *library) {
    const char *own = getenv("LD_PRELOAD");
    size_t size = (own ? strlen(own) : 0) + strlen(library) + 2, used = 0;
    char *list = malloc(size);
    if (!list)
        return complain("LD_PRELOAD: %s", strerror(ENOMEM));
    while (own && *own) {
        size_t length = strcspn(own, " :");
        if (length && !is_ours(own, length)) {
            memcpy(list + used, own, length);
            used += length;
            list[used++] = ':';
        }
        own += length + (own[length] != '\0');
    }
    memcpy(list + used, library, strlen(library) + 1);
    launch_set("LD_PRELOAD", list);
    free(list);
    return 0;
}

/* ---- start ----------------------------------------------------------- */

/* Refuses a program in which a preload cannot work: started without effect, it would only be as slow as
 * before. */
static int preflight(const struct launch *l, const char *library) {
    struct elf_facts program, ours;
    struct obstacles found;
    if (elf_facts(library, &ours) != 0 || !ours.elf)
        return complain("%s: is not a shared library; build and install it again", library);
    if (l->force || elf_facts(l->program.file, &program) != 0)
        return 0;
    obstacles_find(&found, &l->program, &program, &ours);
    const struct obstacle *first = obstacles_first(&found);
    if (!first)
        return 0;
    bool through = l->program.script[0] && first->kind != OBSTACLE_CLEARED;
    complain("%s%s%s: %s; %s (--force starts it anyway)", l->argv[0], through ? ", run by " : "",
             through ? l->program.file : "", first->reason, first->instead);
    return first->kind == OBSTACLE_NO_LINKER ? EXIT_NOT_FOUND : EXIT_OWN;
}

int launch_prepare(struct launch *l) {
    if (!l->argv || !l->argv[0])
        return complain("no PROGRAM given; try --help");
    int error = program_find(&l->program, l->argv[0]);
    if (error)
        return program_complain(&l->program, -error);
    const char *library = library_find(l->library);
    if (!library)
        return EXIT_OWN;
    int refused = preflight(l, library);
    return refused ? refused : preload(library);
}

static int exec_program(struct launch *l) {
    if (!l->program.by_shell) {
        execve(l->program.path, l->argv, environ);
        return errno;
    }
    size_t count = 0;
    while (l->argv[count])
        count++;
    char **words = calloc(count + 2, sizeof(*words)), shell[] = "/bin/sh";
    if (!words)
        return ENOMEM;
    words[0] = shell;
    words[1] = l->program.path;
    memcpy(words + 2, l->argv + 1, (count - 1) * sizeof(*words));
    execve(shell, words, environ);
    return errno;
}

int launch_exec(struct launch *l) {
    return program_complain(&l->program, exec_program(l));
}

static volatile sig_atomic_t child_now;

static void pass_on(int signal) {
    if (child_now > 0)
        kill((pid_t)child_now, signal);
}

pid_t launch_spawn(struct launch *l) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -complain("pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        return -complain("fork: %s", strerror(errno));
    if (child == 0) {
        int error = exec_program(l);
        (void)!write(ends[1], &error, sizeof(error));
        _exit(EXIT_OWN);
    }
    int error = 0;
    close(ends[1]);
    ssize_t n = read(ends[0], &error, sizeof(error));
    close(ends[0]);
    if (n == sizeof(error)) {
        waitpid(child, NULL, 0);
        return -program_complain(&l->program, error);
    }
    child_now = child;
    struct sigaction go_on = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &go_on, NULL);
    sigaction(SIGHUP, &go_on, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    return child;
}

static void time_is_up(int signal) {
    (void)signal;
    pass_on(SIGTERM);
}

void launch_limit(long seconds) {
    struct sigaction action = {.sa_handler = time_is_up, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_value.tv_sec = seconds};
    if (!seconds)
        return;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

int launch_wait(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return complain("waiting for the program: %s", strerror(errno));
    child_now = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
