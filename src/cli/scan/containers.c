/* SPDX-License-Identifier: MIT
 *
 * What the user names: cgroups and units in which processes are; containers by id, which is in the cgroups
 * of their processes, and by name, which the program that started them knows.
 */
#include <string.h>

#include "answer.h"
#include "args.h"
#include "owners.h"
#include "process_stat.h"

enum { ANSWER_S = 10 };

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
    for (pid_t pid; word[0] && !there && (pid = process_next(proc)) != 0;) { /* "" is not the root */
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

/* The number that `PROGRAM inspect` prints; 0: it is not there, knows no such container, or hangs. */
static pid_t ask(const char *program, const char *name, char why[CONTAINER_WHY]) {
    const char *const words[] = {program, "inspect", "--format", "{{.State.Pid}}", "--", name, NULL};
    bool late;
    FREED char *text = NULL;
    int failed = answer_of(words, ANSWER_S, false, &text, &late);
    if (late && text)
        snprintf(why, CONTAINER_WHY, "%.100s: %s inspect: %s; give the beginning of its id", name, program,
                 text);
    return !failed && text ? (pid_t)strtol(text, NULL, 10) : 0;
}

pid_t scan_container_pid(const char *which, char why[CONTAINER_WHY]) {
    snprintf(why, CONTAINER_WHY, "%.100s: no such container runs; give its name or the beginning of its id",
             which);
    pid_t pid = by_id(which);
    if (!pid)
        pid = ask("podman", which, why);
    return pid ? pid : ask("docker", which, why);
}
