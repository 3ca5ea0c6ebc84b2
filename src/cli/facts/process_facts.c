/* SPDX-License-Identifier: MIT */
#include "process_facts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock_ns.h"
#include "process_stat.h"
#include "reader.h"

/* ---- maps ------------------------------------------------------------ */

static bool is_library(const struct reader_mapping *m, void *context) {
    struct process_facts *f = context;
    const char *slash = strrchr(m->path, '/');
    if (!slash || strncmp(slash + 1, "libunstall", 10) != 0 || strlen(m->path) >= sizeof(f->library))
        return false;
    memcpy(f->library, m->path, strlen(m->path) + 1);
    f->library_replaced = m->is_deleted;
    return true;
}

/* ---- how it was started ---------------------------------------------- */

static void read_environment(struct process_facts *f) {
    CLOSED_FILE *file = process_open(f->pid, "environ");
    FREED char *entry = NULL;
    size_t room = 0;
    while (file && getdelim(&entry, &room, '\0', file) > 0)
        if (strncmp(entry, "LD_PRELOAD=", 11) == 0)
            f->preload_asked = strstr(entry, "libunstall") != NULL;
        else if (strncmp(entry, "UNSTALL_MODE=", 13) == 0 && !f->mode[0])
            snprintf(f->mode, sizeof(f->mode), "%s", entry + 13);
}

static void read_auxiliary(struct process_facts *f) {
    CLOSED_FILE *file = process_open(f->pid, "auxv");
    unsigned long pair[2];
    while (file && fread(pair, sizeof(pair), 1, file) == 1 && pair[0] != AT_NULL)
        if (pair[0] == AT_SECURE)
            f->secure = pair[1] != 0;
}

static void read_status(struct process_facts *f) {
    char ids[64]; /* real, effective, … */
    f->no_new_privs = process_number(f->pid, "NoNewPrivs:") != 0;
    f->seccomp = (int)process_number(f->pid, "Seccomp:");
    if (process_entry(f->pid, "status", '\n', "Uid:\t", ids, sizeof(ids)))
        f->user = (uid_t)strtoul(ids + strcspn(ids, "\t"), NULL, 10);
}

/* "0::/system.slice/nginx.service" */
static void read_unit(struct process_facts *f) {
    CLOSED_FILE *file = process_open(f->pid, "cgroup");
    char line[PATH_MAX];
    while (file && fgets(line, sizeof(line), file)) {
        char *end = strstr(line, ".service");
        if (!end)
            continue;
        end[sizeof(".service") - 1] = '\0';
        const char *slash = strrchr(line, '/');
        if (slash && strncmp(slash, "/user@", 6) != 0)
            snprintf(f->unit, sizeof(f->unit), "%.255s", slash + 1);
    }
}

const char *process_unit(const struct process_facts *f) {
    return f->unit[0] && !f->other_files ? f->unit : NULL;
}

const char *process_lasting_unit(const struct process_facts *f) {
    char path[PATH_MAX];
    const char *unit = process_unit(f);
    snprintf(path, sizeof(path), "/run/systemd/transient/%s", unit ? unit : "");
    return unit && access(path, F_OK) != 0 ? unit : NULL;
}

/* ---- descriptors ----------------------------------------------------- */

/* liburing may be part of the program, which then links no liburing.so. */
static void read_descriptors(struct process_facts *f) {
    static const char ring[] = "anon_inode:[io_uring]";
    char target[sizeof(ring)];
    CLOSED_FOLDER *folder = process_folder(f->pid, "fd");
    for (const struct dirent *e; folder && !f->rings && (e = readdir(folder));) {
        ssize_t n = readlinkat(dirfd(folder), e->d_name, target, sizeof(target));
        f->rings = n == sizeof(ring) - 1 && memcmp(target, ring, sizeof(ring) - 1) == 0;
    }
}

/* ---- namespaces ------------------------------------------------------ */

/* The root is compared, not the mount namespace: most services have their own (PrivateTmp=). */
static void read_namespaces(struct process_facts *f) {
    char name[PROCESS_PATH];
    f->other_files = files_are(process_path(f->pid, "root/", name), "/") == FILES_DIFFER;
    f->other_network = files_are(process_path(f->pid, "ns/net", name), "/proc/self/ns/net") == FILES_DIFFER;
}

/* "/usr/bin/man (enforce)": of AppArmor or SELinux. */
static void read_profile(struct process_facts *f) {
    process_entry(f->pid, "attr/current", '\n', "", f->profile, sizeof(f->profile));
    if (strncmp(f->profile, "unconfined", 10) == 0 || strstr(f->profile, "(complain)"))
        f->profile[0] = '\0';
}

bool process_sees(pid_t pid, const char *path) {
    char name[PATH_MAX + PROCESS_PATH];
    snprintf(name, sizeof(name), "/proc/%d/root%s", (int)pid, path);
    return access(name, F_OK) == 0;
}

int process_library(pid_t pid, struct process_facts *f) {
    memset(f, 0, sizeof(*f));
    f->pid = pid;
    int error = reader_each_mapping(pid, is_library, f);
    if (!error)
        read_environment(f);
    return error;
}

/* systemctl(1) returns before a service has come to its program, and to its libraries. */
static bool has_just_started(pid_t pid) {
    const uint64_t start_ns = 2000000000;
    struct process_stat s;
    return process_stat(pid, &s) && clock_ns(CLOCK_REALTIME) - process_began_ns(s.start) < start_ns;
}

int process_facts(pid_t pid, struct process_facts *f) {
    const struct timespec again = {.tv_nsec = 10000000};
    int error = process_library(pid, f);
    while (!error && !f->library[0] && has_just_started(pid)) {
        nanosleep(&again, NULL);
        error = process_library(pid, f);
    }
    if (error)
        return error;
    if (!process_program(pid, f->program, sizeof(f->program))[0])
        return errno == ENOENT ? -ENOEXEC : -errno;
    read_auxiliary(f);
    read_status(f);
    read_unit(f);
    read_descriptors(f);
    read_namespaces(f);
    read_profile(f);
    return 0;
}

/* A word of a command line as it works in our working directory: the process may have another one, in which a
 * file has the path that the word says. */
static void add_word(struct prose *p, pid_t pid, const char *word, bool is_program) {
    char file[PATH_MAX + PROCESS_PATH], folder[PATH_MAX];
    struct stat st;
    bool has_folder = strchr(word, '/') != NULL;
    bool is_relative = word[0] != '/' && (has_folder || !is_program);
    ssize_t n = is_relative ? readlink(process_path(pid, "cwd", file), folder, sizeof(folder) - 1) : 0;
    if (n > 0 && (size_t)n + strlen(word) + 1 < sizeof(folder) && files_are(file, ".") == FILES_DIFFER) {
        snprintf(folder + n, sizeof(folder) - (size_t)n, "/%s", strncmp(word, "./", 2) ? word : word + 2);
        snprintf(file, sizeof(file), "/proc/%d/cwd/%s", (int)pid, word);
        if (stat(file, &st) == 0 && (has_folder || S_ISREG(st.st_mode)))
            word = folder;
    }
    prose_add_word(p, word);
}

bool process_command(struct prose *p, pid_t pid) {
    char words[PROSE_ROOM / 2];
    size_t before = p->used;
    size_t n = process_text(pid, "cmdline", words, sizeof(words));
    bool whole = n > 0 && n < sizeof(words) - 1 && !strchr(words, ' ');
    for (size_t at = 0; whole && at < n; at += strlen(words + at) + 1)
        add_word(p, pid, words + at, at == 0);
    if (p->used + 1 < sizeof(p->text))
        return whole;
    p->text[p->used = before] = '\0';
    return false;
}

/* ---- the processes of a cgroup ---------------------------------------------- */

static struct cgroup_pids *taken; /* nftw(3) passes no argument on */

static int take(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
    char name[PATH_MAX], line[32];
    (void)st, (void)ftw;
    if (kind != FTW_D ||
        (size_t)snprintf(name, sizeof(name), "%s/cgroup.procs", path) >= sizeof(name))
        return 0;
    CLOSED_FILE *f = fopen(name, "re");
    while (f && taken->count < CGROUP_PIDS && fgets(line, sizeof(line), f))
        taken->list[taken->count++] = (pid_t)strtol(line, NULL, 10);
    return 0;
}

void cgroup_pids(const char *folder, struct cgroup_pids *found) {
    enum { FOLDERS_OPEN = 16 };
    found->count = 0;
    taken = found;
    nftw(folder, take, FOLDERS_OPEN, FTW_PHYS);
}
