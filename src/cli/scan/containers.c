/* SPDX-License-Identifier: MIT
 *
 * What the user names: cgroups and units in which processes are; containers by id, which is in the cgroups
 * of their processes, and by name, which the program that started them knows.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "args.h"
#include "owners.h"
#include "process_stat.h"

extern char **environ;

/* Keeps in `near` the part of the path, or the whole path for a word with a slash, that differs least from
 * the word. */
static void look_near(const char *word, const char *path, unsigned *least, char near[SCAN_CGROUP]) {
    char part[SCAN_CGROUP], whole[SCAN_CGROUP];
    bool by_path = word[0] == '/';
    snprintf(whole, sizeof(whole), "%s.service", word);
    for (const char *at = path; *at; at += *at == '/') {
        snprintf(part, sizeof(part), "%.*s", (int)strcspn(at, by_path ? "" : "/"), at);
        unsigned one = args_distance(word, part), other = args_distance(whole, part);
        unsigned n = one < other ? one : other;
        if (part[0] && n < *least) {
            *least = n;
            snprintf(near, SCAN_CGROUP, "%s", part);
        }
        at += strlen(part);
    }
}

bool scan_cgroup_find(const char *word, char found[SCAN_CGROUP]) {
    char whole[SCAN_CGROUP], near[SCAN_CGROUP] = "";
    unsigned least = (unsigned)strlen(word) / 3 + 1;
    bool there = false, as_unit = false;
    CLOSED_FOLDER *proc = opendir("/proc");
    snprintf(whole, sizeof(whole), "%s.service", word);
    for (pid_t pid; !there && (pid = process_next(proc)) != 0;) {
        struct scan_process p;
        scan_process_of(pid, &p);
        there = scan_cgroup_matches(p.cgroup, word);
        as_unit |= scan_cgroup_matches(p.cgroup, whole);
        look_near(word, p.cgroup, &least, near);
    }
    snprintf(found, SCAN_CGROUP, "%s", there ? word : as_unit ? whole : near);
    return there || as_unit;
}

static pid_t by_id(const char *id) {
    enum { LEAST = 4 };
    size_t length = strlen(id);
    if (length < LEAST || strspn(id, "0123456789abcdef") != length)
        return 0;
    if (length > SCAN_CONTAINER - 1)
        length = SCAN_CONTAINER - 1;
    CLOSED_FOLDER *proc = opendir("/proc");
    pid_t found = 0;
    for (pid_t pid; !found && (pid = process_next(proc)) != 0;) {
        struct scan_process p;
        scan_process_of(pid, &p);
        if (strncmp(p.container, id, length) == 0)
            found = p.pid;
    }
    return found;
}

/* The number that `PROGRAM inspect` prints; 0: it is not there, or knows no such container. */
static pid_t ask(char *program, char *name) {
    char inspect[] = "inspect", format[] = "--format", pid[] = "{{.State.Pid}}", end[] = "--";
    char *const argv[] = {program, inspect, format, pid, end, name, NULL};
    posix_spawn_file_actions_t actions;
    char text[32] = "";
    int ends[2], status;
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    int failed = posix_spawnp(&child, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    ssize_t n = failed ? 0 : read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    while (!failed && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return n > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

pid_t scan_container_pid(const char *which) {
    char podman[] = "podman", docker[] = "docker";
    FREED char *name = strdup(which);
    pid_t pid = by_id(which);
    if (!pid && name)
        pid = ask(podman, name);
    return pid || !name ? pid : ask(docker, name);
}
