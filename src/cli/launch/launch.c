/* SPDX-License-Identifier: MIT */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "array.h"
#include "closing.h"
#include "conf.h"
#include "config.h"
#include "errors.h"
#include "format.h"
#include "guards.h"
#include "library.h"
#include "obstacles.h"
#include "stats_files.h"
#include "stats_folder.h"
#include "supervise.h"

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

/* An absolute path: the program may change its folder before it writes there. */
static const char *whole_path(const char *value) {
    static char whole[2 * PATH_MAX];
    char here[PATH_MAX];
    bool is_no_path = !value[0] || strcmp(value, "stderr") == 0 || strcmp(value, "-") == 0;
    if (is_no_path || value[0] == '/' || !getcwd(here, sizeof(here)))
        return value;
    snprintf(whole, sizeof(whole), "%s/%s", here, value);
    return whole;
}

/* Checks by the library's own parser, so that both accept the same values. */
static void check_value(const char *option, const char *variable, const char *value) {
    static struct config scratch;
    const char *expected = NULL;
    enum config_result result = config_set(&scratch, variable, value, &expected);
    if (result == CONFIG_BAD)
        exit(complain("%s %s: expected %s", option, value, expected));
    if (result == CONFIG_UNKNOWN)
        exit(complain("%s: this build does not know %s", option, variable));
}

bool option_setting(struct args *a, const char **variable, const char **value) {
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        *value = settings[i].fixed;
        bool taken =
            *value ? args_flag(a, settings[i].option) : args_value(a, settings[i].option, value);
        if (!taken)
            continue;
        if (settings[i].is_path)
            *value = whole_path(*value);
        check_value(settings[i].option, settings[i].variable, *value);
        *variable = settings[i].variable;
        return true;
    }
    return false;
}

void launch_set(const char *name, const char *value) {
    if (setenv(name, value, 1) != 0)
        exit(complain("%s: %s", name, strerror(errno)));
}

bool launch_option(struct launch *l, struct args *a) {
    const char *variable = NULL, *value = NULL;
    if (args_value(a, "--library", &l->library))
        return true;
    if (args_flag(a, "--force"))
        return l->force = true;
    if (!option_setting(a, &variable, &value))
        return false;
    if (strcmp(variable, "UNSTALL_STATS") == 0) {
        const char *obstacle = stats_folder_obstacle(l->stats = value);
        if (obstacle)
            exit(complain("--stats %s: %s; %s", value, obstacle, stats_folder_way()));
    }
    launch_set(variable, value);
    return true;
}

/* ---- LD_PRELOAD ------------------------------------------------------ */

static int preload(const char *library) {
    FREED char *list = preload_list(getenv("LD_PRELOAD"), library);
    if (!list)
        return complain("LD_PRELOAD: %s", strerror(ENOMEM));
    launch_set("LD_PRELOAD", list);
    return 0;
}

/* ---- the seccomp supervisor ------------------------------------------ */

/* True if the supervisor cures a program in spite of this obstacle to a preload.
 * For Go and static programs `run` chooses that by itself; for all others the user must ask for it. */
static bool overcome(const struct launch *l, enum obstacle_kind kind) {
    switch (kind) {
    case OBSTACLE_GO:
    case OBSTACLE_STATIC: return true;
    case OBSTACLE_PRIVILEGES: /* see supervised_begin() */
    case OBSTACLE_LIBC:
    case OBSTACLE_NO_ELF:
    case OBSTACLE_CLEARED:
    case OBSTACLE_SANITIZER: return l->how == HOW_SECCOMP;
    default: return false;
    }
}

/* Sets l->supervised and the members about it.  Returns the obstacle that no way overcomes, or NULL. */
static const struct obstacle *supervised_choose(struct launch *l, const struct obstacles *found) {
    const struct obstacle *first = obstacles_first(found);
    if (l->how == HOW_PRELOAD || l->how == HOW_PRELOAD_ONLY || (l->how == HOW_CHOSEN && !first))
        return first;
    for (unsigned i = 0; i < found->count; i++) {
        const struct obstacle *o = &found->list[i];
        if (!o->remark && !overcome(l, o->kind))
            return o;
        l->gains_rights |= o->kind == OBSTACLE_PRIVILEGES;
        l->no_preload |= o->kind == OBSTACLE_SANITIZER;
    }
    l->supervised = true;
    if (first)
        snprintf(l->obstacle, sizeof(l->obstacle), "%s", first->reason);
    return NULL;
}

static const char *why(const struct launch *l) {
    return l->obstacle[0] ? l->obstacle : "--how seccomp";
}

/* Refuses settings that the supervisor cannot obey.  0, or the exit code and a complaint. */
static int supervised_check(const struct launch *l) {
    static const char *const choices[] = {"UNSTALL_PORTS", "UNSTALL_PEERS", "UNSTALL_PROGRAMS"};
    const char *mode = getenv("UNSTALL_MODE");
    if (mode && (strcmp(mode, "off") == 0 || strcmp(mode, "observe") == 0))
        return complain(
            "%s: %s; the seccomp supervisor cures and has no mode %s; leave the mode out "
            "(--force runs it cured)",
            l->argv[0], why(l), mode);
    for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
        const char *value = getenv(choices[i]);
        if (value && *value)
            return complain("%s: %s; the seccomp supervisor cures all connections and cannot obey "
                            "%s=%s; unset it%s (--force ignores it)",
                            l->argv[0], why(l), choices[i], value,
                            i ? "" : ", or start the program without unstall and cure one port as root: "
                                     "unstall attach --port PORT PID");
    }
    return 0;
}

static bool is_verbose(void) {
    const char *level = getenv("UNSTALL_VERBOSE");
    return level && (level[0] == '1' || level[0] == '2');
}

#define AS_IT_RUNS "start it without unstall and cure it as root: unstall attach PID"

/* Complains with the reason and the next step. */
static int refuse(const struct launch *l, int error) {
    const char *program = l->argv[0];
    if (error == -EOPNOTSUPP)
        return complain("%s: %s; this build has no seccomp supervisor; build it with libseccomp, "
                        "or " AS_IT_RUNS,
                        program, why(l));
    if (error == -ENOSYS)
        return complain("%s: %s; the seccomp supervisor needs Linux %d.%d", program, why(l),
                        SUPERVISE_LEAST_MAJOR, SUPERVISE_LEAST_MINOR);
    if (error == -EBUSY)
        return complain("%s: %s; another program supervises this process by seccomp already, and the kernel "
                        "allows one; " AS_IT_RUNS,
                        program, why(l));
    if (error == -EACCES)
        return complain(
            "%s: %s; the seccomp supervisor needs no_new_privs here, by which it would lose "
            "these rights; start unstall run with CAP_SYS_ADMIN, or " AS_IT_RUNS
            " (--force starts it without the rights)",
            program, why(l));
    return complain("%s: %s; the seccomp supervisor cannot start: %s", program, why(l),
                    strerror(-error));
}

static bool is_under_ours(void) {
    FREED struct guard *guards = NULL;
    size_t count = guards_find(&guards);
    return guard_of(getpid(), guards, count) != NULL;
}

/* Puts this process under the supervisor.  0, or the exit code and a complaint. */
static int supervised_begin(const struct launch *l) {
    bool no_new_privs, blind;
    int error = supervise_begin(l->gains_rights && !l->force, &no_new_privs, &blind);
    if (error == -EBUSY && is_under_ours()) {
        if (is_verbose())
            remark("%s: %s; it runs under the seccomp supervisor of an outer unstall run", l->argv[0],
                   why(l));
        return 0;
    }
    if (error) {
        int code = refuse(l, error);
        return l->force && error != -ESRCH ? 0 : code; /* ESRCH: the filter may be installed */
    }
    if (blind)
        remark("%s: %s; a seccomp filter of the container forbids the supervisor to look at sockets "
               "(pidfd_getfd), so a connection is not cured on which the program sets TCP_NODELAY itself, as "
               "Go does on each; as root, outside of the container, unstall attach PID cures it",
               l->argv[0], why(l));
    else if (is_verbose())
        remark(
            "%s: %s; it runs under the seccomp supervisor, with TCP_NODELAY on its connections%s",
            l->argv[0], why(l),
            no_new_privs ? "; setuid programs that it starts gain no rights (no_new_privs)" : "");
    return 0;
}

/* ---- start ----------------------------------------------------------- */

/* Refuses a program in which a preload cannot work: it would start and be as slow as before. */
static int preflight(struct launch *l, const char *library, struct preload_entry *entry) {
    struct elf_facts program = {0}, ours;
    struct obstacles found;
    int unknown = elf_facts(l->program.file, &program);
    preload_entry(entry, library, &program);
    if (elf_facts(entry->file, &ours) != 0 || !ours.elf)
        return complain("%s: is not a shared library; build and install it again", entry->file);
    if (unknown)
        return 0;
    obstacles_find(&found, &l->program, &program, &ours);
    const struct obstacle *first = supervised_choose(l, &found);
    if (l->force || (!first && !l->supervised))
        return 0;
    if (!first)
        return supervised_check(l);
    bool through = l->program.script[0] && first->kind != OBSTACLE_CLEARED;
    complain("%s%s%s: %s; %s (--force starts it anyway)", l->argv[0], through ? ", run by " : "",
             through ? l->program.file : "", first->reason, first->instead);
    return first->kind == OBSTACLE_NO_LINKER ? EXIT_NOT_FOUND : EXIT_OWN;
}

/* The options and the caller's environment come before the settings of the machine. */
static int apply_settings(const struct launch *l) {
    const struct program *p = &l->program;
    const char *names[] = {base_of(p->path), base_of(p->script), base_of(p->file)};
    struct conf c;
    int failed = conf_read(&c, l->conf, names, ARRAY_SIZE(names));
    for (size_t i = 0; i < c.count; i++)
        if (!getenv(c.settings[i].variable))
            launch_set(c.settings[i].variable, c.settings[i].value);
    conf_free(&c);
    return failed;
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
    static struct preload_entry entry;
    int refused = preflight(l, library, &entry);
    if (!refused && l->settings)
        refused = apply_settings(l);
    return refused || l->no_preload ? refused : preload(entry.listed);
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
    if (l->stats)
        stats_prune(l->stats);
    int refused = l->supervised ? supervised_begin(l) : 0;
    if (refused)
        return refused;
    return program_complain(&l->program, exec_program(l));
}

static volatile sig_atomic_t child_now, limited;

static void pass_on(int signal) {
    if (child_now > 0)
        kill((pid_t)child_now, signal);
}

/* Starts it, and waits until it has become the program: its id, or minus the exit code and a complaint. */
static pid_t spawn(struct launch *l) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -complain("pipe: %s", strerror(errno));
    fflush(NULL);
    void (*children)(int) = signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would hide how it ends */
    pid_t child = fork();
    if (child < 0)
        return -complain("fork: %s", strerror(errno));
    if (child == 0) {
        signal(SIGCHLD, children);
        sigprocmask(SIG_SETMASK, &l->mask, NULL);
        if (l->to_stderr)
            dup2(STDERR_FILENO, STDOUT_FILENO);
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
    return child;
}

void launch_hold_signals(struct launch *l) {
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGQUIT);
    sigprocmask(SIG_BLOCK, &ours, &l->mask);
}

pid_t launch_spawn(struct launch *l) {
    static const int of_terminal[] = {SIGINT, SIGQUIT};
    sigset_t waiting;
    pid_t child = spawn(l);
    if (child > 0) {
        child_now = child;
        sigpending(&waiting);
        for (size_t i = 0; i < ARRAY_SIZE(of_terminal); i++)
            if (sigismember(&waiting, of_terminal[i]) == 1) /* it may have come before the child was there */
                pass_on(of_terminal[i]);
        struct sigaction go_on = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
        sigaction(SIGTERM, &go_on, NULL);
        sigaction(SIGHUP, &go_on, NULL);
        signal(SIGINT, SIG_IGN);
        signal(SIGQUIT, SIG_IGN);
        sigprocmask(SIG_SETMASK, &l->mask, NULL);
    }
    return child;
}

static void time_is_up(int signal) {
    (void)signal;
    limited = child_now > 0;
    pass_on(SIGTERM);
}

void launch_limit(double seconds) {
    struct sigaction action = {.sa_handler = time_is_up, .sa_flags = SA_RESTART};
    const long us = (long)(seconds * 1e6);
    struct itimerval timer = {.it_value = {us / 1000000, us % 1000000}};
    if (us == 0)
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
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return limited && code == 128 + SIGTERM ? 0 : code;
}

bool launch_was_limited(void) {
    return limited;
}
