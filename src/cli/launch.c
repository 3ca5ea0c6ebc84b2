/* SPDX-License-Identifier: MIT */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"

extern char **environ;

/* ---- options --------------------------------------------------------- */

enum { IS_PATH = 1 };

static const struct {
    const char *option, *variable;
    const char *fixed; /* for an option without a value */
    int flags;
} settings[] = {
    {"--mode", "UNSTALL_MODE", NULL, 0},           {"--window", "UNSTALL_WINDOW_US", NULL, 0},
    {"--small", "UNSTALL_SMALL", NULL, 0},         {"--nodelay", "UNSTALL_NODELAY", NULL, 0},
    {"--quickack", "UNSTALL_QUICKACK", NULL, 0},   {"--override", "UNSTALL_OVERRIDE", "1", 0},
    {"--ports", "UNSTALL_PORTS", NULL, 0},         {"--peers", "UNSTALL_PEERS", NULL, 0},
    {"--programs", "UNSTALL_PROGRAMS", NULL, 0},   {"--no-children", "UNSTALL_CHILDREN", "0", 0},
    {"--stats", "UNSTALL_STATS", NULL, IS_PATH},   {"--no-stacks", "UNSTALL_STACKS", "0", 0},
    {"--report", "UNSTALL_REPORT", NULL, IS_PATH}, {"--log", "UNSTALL_LOG", NULL, IS_PATH},
    {"--verbose", "UNSTALL_VERBOSE", NULL, 0},
};

void launch_set(const char *name, const char *value) {
    if (setenv(name, value, 1) != 0)
        exit(complain("%s: %s", name, strerror(errno)));
}

/* The program may change its folder before it writes there: from the root, then. */
static void set_path(const char *name, const char *value) {
    char here[PATH_MAX], whole[2 * PATH_MAX];
    if (value[0] == '/' || strcmp(value, "stderr") == 0 || !getcwd(here, sizeof(here))) {
        launch_set(name, value);
        return;
    }
    snprintf(whole, sizeof(whole), "%s/%s", here, value);
    launch_set(name, whole);
}

/* By the library's own parser, so that what passes here passes there. */
static void check(const char *option, const char *variable, const char *value) {
    static struct config scratch;
    const char *expected = NULL;
    enum config_result result = config_set(&scratch, variable, value, &expected);
    if (result == CONFIG_BAD)
        exit(complain("%s %s: expected %s", option, value, expected));
    if (result == CONFIG_UNKNOWN)
        exit(complain("%s: this version has no %s", option, variable));
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
        check(settings[i].option, settings[i].variable, value);
        if (settings[i].flags & IS_PATH)
            set_path(settings[i].variable, value);
        else
            launch_set(settings[i].variable, value);
        return true;
    }
    return false;
}

/* ---- the program ----------------------------------------------------- */

/* As execvp(3) looks for it; what was found and may not be run counts as found. */
static int find_program(const char *name, char path[PATH_MAX]) {
    struct stat st;
    if (strchr(name, '/')) {
        int n = snprintf(path, PATH_MAX, "%s", name);
        if (n >= PATH_MAX)
            return -ENAMETOOLONG;
        return stat(path, &st) == 0 ? 0 : -errno;
    }
    const char *list = getenv("PATH");
    if (!list)
        list = "/bin:/usr/bin";
    int error = -ENOENT;
    while (name[0]) {
        const char *colon = strchrnul(list, ':');
        const char *folder = colon == list ? "." : list;
        int length = colon == list ? 1 : (int)(colon - list);
        int n = snprintf(path, PATH_MAX, "%.*s/%s", length, folder, name);
        if (n < PATH_MAX && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            if (access(path, X_OK) == 0)
                return 0;
            error = -EACCES;
        }
        if (!*colon)
            break;
        list = colon + 1;
    }
    return error;
}

static int cannot_run(const char *what, int error) {
    if (error == ENOENT || error == ENOTDIR) {
        complain("%s: no such program; give its path, or look at $PATH", what);
        return EXIT_NOT_FOUND;
    }
    complain("%s: cannot be run: %s", what, strerror(error));
    return EXIT_NOT_RUN;
}

/* ---- LD_PRELOAD ------------------------------------------------------ */

static bool is_ours(const char *entry, size_t length) {
    static const char name[] = "libunstall.so";
    size_t n = sizeof(name) - 1;
    return length >= n && memcmp(entry + length - n, name, n) == 0 &&
           (length == n || entry[length - n - 1] == '/');
}

/* The user's own libraries stay, before ours: a sanitizer's wants to be the first one,
 * and what one of them does to the calls that we stand before is part of the program. */
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
    strcpy(list + used, library);
    launch_set("LD_PRELOAD", list);
    free(list);
    return 0;
}

/* ---- going ----------------------------------------------------------- */

int launch_prepare(struct launch *l) {
    if (!l->argv || !l->argv[0])
        return complain("no program given; try --help");
    int error = find_program(l->argv[0], l->path);
    if (error)
        return cannot_run(l->argv[0], -error);
    const char *library = launch_library(l);
    return library ? preload(library) : EXIT_OWN;
}

static int become(struct launch *l) {
    execve(l->path, l->argv, environ);
    return errno;
}

int launch_exec(struct launch *l) {
    return cannot_run(l->argv[0], become(l));
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
        int error = become(l);
        (void)!write(ends[1], &error, sizeof(error));
        _exit(EXIT_OWN);
    }
    int error = 0;
    close(ends[1]);
    ssize_t n = read(ends[0], &error, sizeof(error));
    close(ends[0]);
    if (n == sizeof(error)) {
        waitpid(child, NULL, 0);
        return -cannot_run(l->argv[0], error);
    }
    child_now = child;
    struct sigaction go_on = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &go_on, NULL);
    sigaction(SIGHUP, &go_on, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    return child;
}

int launch_wait(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return complain("waiting for the program: %s", strerror(errno));
    child_now = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
