/* SPDX-License-Identifier: MIT */
#include "target.h"

#include <errno.h>
#include <fts.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "owners.h"
#include "process_stat.h"

enum { ROOT_ID = 1, TEXT = 4096 };

#define ROOM "%1023" /* ATTACH_CGROUP - 1, for sscanf(3) */
_Static_assert(ATTACH_CGROUP == 1024, "ROOM has the same number");

#define NO_CGROUP                                                                       \
    "cgroup v2 is not mounted here; mount it: mount -t cgroup2 cgroup2 DIR (it may be " \
    "mounted beside version 1)"

__attribute__((format(printf, 3, 4))) static int refuse(char error[ATTACH_ERROR], int reason,
                                                        const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, ATTACH_ERROR, format, arguments);
    va_end(arguments);
    return -reason;
}

uint64_t attach_start_of(pid_t pid) {
    struct process_stat s;
    return process_stat(pid, &s) ? s.start : 0;
}

const char *attach_mode_name(const struct attach_config *c) {
    return c->experiment.arms ? "of an experiment" : c->mode == ATTACH_PROOF ? "proof" : "always";
}

/* Where cgroup v2 is mounted, on a hybrid host too. */
static bool find_mount(char mount[ATTACH_CGROUP]) {
    char line[TEXT];
    bool found = false;
    CLOSED_FILE *f = fopen("/proc/self/mountinfo", "re");
    while (f && !found && fgets(line, sizeof(line), f)) {
        const char *type = strstr(line, " - cgroup2 ");
        found = type && sscanf(line, "%*s %*s %*s %*s " ROOM "s", mount) == 1;
    }
    return found;
}

/* The cgroup of a process in version 2, "/" for the root.  A path without room is none: its beginning is
 * another cgroup. */
static bool cgroup_of(pid_t pid, char path[ATTACH_CGROUP]) {
    return process_entry(pid, "cgroup", '\n', "0::", path, ATTACH_CGROUP) && strlen(path) < ATTACH_CGROUP - 1;
}

bool attach_has_cgroup(const char *folder, uint64_t cgroup) {
    struct stat st;
    return stat(folder, &st) == 0 && st.st_ino == cgroup;
}

bool attach_path_is_below(const char *path, const char *above) {
    size_t length = strlen(above);
    return strncmp(path, above, length) == 0 && (path[length] == '/' || !path[length]);
}

bool attach_is_below(pid_t pid, const char *folder) {
    char mount[ATTACH_CGROUP], path[ATTACH_CGROUP];
    return find_mount(mount) && strncmp(folder, mount, strlen(mount)) == 0 && cgroup_of(pid, path) &&
           attach_path_is_below(path, folder + strlen(mount));
}

static int take_folder(struct attach_target *t, const char *mount, const char *below,
                       char error[ATTACH_ERROR]) {
    struct stat st;
    if (snprintf(t->path, sizeof(t->path), "%s%s%s", mount, below[0] == '/' ? "" : "/", below) >=
        (int)sizeof(t->path))
        return refuse(error, ENAMETOOLONG, "the path of the cgroup is too long");
    for (size_t n = strlen(t->path); n > 1 && t->path[n - 1] == '/'; n--)
        t->path[n - 1] = '\0';
    if (stat(t->path, &st) != 0 || !S_ISDIR(st.st_mode))
        return refuse(error, ENOENT,
                      "%s: no such cgroup; give a path below %s, where cgroup v2 is mounted",
                      t->path, mount);
    t->cgroup = st.st_ino;
    t->whole_host = st.st_ino == ROOT_ID;
    return 0;
}

/* The cgroup with the unit's name as its folder. */
static int take_unit(struct attach_target *t, char *mount, const char *name,
                     char error[ATTACH_ERROR]) {
    char *const roots[] = {mount, NULL};
    int failed = -ENOENT;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
    for (const FTSENT *e; walk && failed == -ENOENT && (e = fts_read(walk));)
        if (e->fts_info == FTS_D && e->fts_level > 0 && strcmp(e->fts_name, name) == 0)
            failed = take_folder(t, mount, e->fts_path + strlen(mount), error);
    if (walk)
        fts_close(walk);
    if (failed == -ENOENT)
        return refuse(error, ENOENT, "%s: no such unit runs: it has no cgroup below %s", name,
                      mount);
    return failed;
}

static int take_container(struct attach_target *t, const char *mount, const char *which,
                          char error[ATTACH_ERROR]) {
    char path[ATTACH_CGROUP], why[CONTAINER_WHY];
    pid_t pid = scan_container_pid(which, why);
    if (pid == 0)
        return refuse(error, ESRCH, "%s", why);
    if (!cgroup_of(pid, path) || strcmp(path, "/") == 0)
        return refuse(error, ENOENT,
                      "%s: the container has no cgroup of its own in cgroup v2; give its "
                      "process, %d, instead",
                      which, (int)pid);
    return take_folder(t, mount, path, error);
}

static int take_process(struct attach_target *t, const char *mount, pid_t pid,
                        char error[ATTACH_ERROR]) {
    char path[ATTACH_CGROUP];
    t->pid = pid;
    if (!cgroup_of(pid, path))
        return refuse(error, ENOENT, "%d: the process has no cgroup in cgroup v2", (int)pid);
    return take_folder(t, mount, path, error);
}

/* The path of a cgroup below the mount; the user may have typed it with the mount before it. */
static const char *below_mount(const char *path, const char *mount) {
    return attach_path_is_below(path, mount) ? path + strlen(mount) : path;
}

bool attach_name(const struct attach_wish *w, struct attach_target *t) {
    char port[16] = "", words[32] = "";
    if (w->port) {
        snprintf(port, sizeof(port), "port-%u", w->port);
        snprintf(words, sizeof(words), "port %u", w->port);
    }
    const char *between = w->port ? "-" : "", *comma = w->port ? ", " : "";
    if (w->kind == WISH_PROCESS) {
        snprintf(t->name, sizeof(t->name), "pid-%d%s%s", (int)w->pid, between, port);
        snprintf(t->text, sizeof(t->text), "process %d%s%s", (int)w->pid, comma, words);
    } else if (w->kind < WISH_CGROUP) {
        snprintf(t->name, sizeof(t->name), "%s", w->port ? port : "all");
        snprintf(t->text, sizeof(t->text), "%s", w->port ? words : "this host");
    } else {
        snprintf(t->name, sizeof(t->name), "cgroup-%llu%s%s", (unsigned long long)t->cgroup,
                 between, port);
        const char *kind = w->kind == WISH_CGROUP ? "cgroup" : w->kind == WISH_UNIT ? "unit" : "container";
        snprintf(t->text, sizeof(t->text), "%s %.80s%s%s", kind, w->name, comma, words);
        return t->cgroup != 0;
    }
    return true;
}

int attach_find(const struct attach_wish *w, struct attach_target *t, char error[ATTACH_ERROR]) {
    char mount[ATTACH_CGROUP];
    int failed;
    *t = (struct attach_target){.port = w->port};
    if (!find_mount(mount))
        return refuse(error, ENOENT, NO_CGROUP);
    if (w->kind == WISH_PROCESS)
        failed = take_process(t, mount, w->pid, error);
    else if (w->kind == WISH_UNIT)
        failed = take_unit(t, mount, w->name, error);
    else if (w->kind == WISH_CONTAINER)
        failed = take_container(t, mount, w->name, error);
    else
        failed = take_folder(t, mount, w->kind == WISH_CGROUP ? below_mount(w->name, mount) : "", error);
    attach_name(w, t);
    return failed;
}
