/* SPDX-License-Identifier: MIT */
#include "process_stat.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "clock_ns.h"

const char *process_path(pid_t pid, const char *which, char path[PROCESS_PATH]) {
    snprintf(path, PROCESS_PATH, "/proc/%d/%s", (int)pid, which);
    return path;
}

FILE *process_open(pid_t pid, const char *which) {
    char path[PROCESS_PATH];
    return fopen(process_path(pid, which, path), "re");
}

DIR *process_folder(pid_t pid, const char *which) {
    char path[PROCESS_PATH];
    return opendir(process_path(pid, which, path));
}

size_t process_text(pid_t pid, const char *which, char *text, size_t size) {
    CLOSED_FILE *f = process_open(pid, which);
    size_t n = f ? fread(text, 1, size - 1, f) : 0;
    text[n] = '\0';
    return n;
}

bool process_entry(pid_t pid, const char *which, char end, const char *begin, char *text, size_t size) {
    CLOSED_FILE *f = process_open(pid, which);
    FREED char *entry = NULL;
    size_t room = 0, length = strlen(begin);
    bool found = false;
    for (ssize_t n; f && !found && (n = getdelim(&entry, &room, end, f)) > 0;) {
        if (entry[n - 1] == end)
            entry[n - 1] = '\0';
        found = strncmp(entry, begin, length) == 0;
    }
    if (found)
        snprintf(text, size, "%s", entry + length);
    return found;
}

bool process_has_command(pid_t pid) {
    char some[2];
    return process_text(pid, "cmdline", some, sizeof(some)) > 0;
}

const char *process_file(pid_t pid, char *path, size_t size) {
    char link[PROCESS_PATH];
    ssize_t n = readlink(process_path(pid, "exe", link), path, size - 1);
    path[n > 0 ? n : 0] = '\0';
    return path;
}

enum files files_are(const char *a, const char *b) {
    struct stat x, y;
    if (stat(a, &x) != 0 || stat(b, &y) != 0)
        return FILES_UNKNOWN;
    return x.st_ino == y.st_ino && x.st_dev == y.st_dev ? FILES_ARE_ONE : FILES_DIFFER;
}

const char *process_program(pid_t pid, char *path, size_t size) {
    char link[PROCESS_PATH], other[PATH_MAX];
    const char *name = strrchr(process_file(pid, path, size), '/');
    struct process_stat s;
    if (!name++ || !process_stat(pid, &s))
        return path;
    size_t a = strlen(name), b = strlen(s.name);
    if (strncmp(name, s.name, a < b ? a : b) == 0)
        return path;
    snprintf(other, sizeof(other), "%.*s%s", (int)(name - path), path, s.name);
    if (files_are(process_path(pid, "exe", link), other) == FILES_ARE_ONE)
        snprintf(path, size, "%s", other);
    return path;
}

uint64_t process_socket(int folder, const char *name) {
    static const char begin[] = "socket:[";
    char link[64] = "";
    if (readlinkat(folder, name, link, sizeof(link) - 1) < 0 ||
        strncmp(link, begin, sizeof(begin) - 1) != 0)
        return 0;
    return strtoull(link + sizeof(begin) - 1, NULL, 10);
}

long process_number(pid_t pid, const char *begin) {
    char text[32];
    return process_entry(pid, "status", '\n', begin, text, sizeof(text)) ? strtol(text, NULL, 10) : 0;
}

pid_t process_of_thread(pid_t thread) {
    return (pid_t)process_number(thread, "Tgid:");
}

/* The name may have any character; the last ')' ends it. */
bool process_stat(pid_t pid, struct process_stat *s) {
    enum { PARENT = 4, SESSION = 6, THREADS = 20, START = 22, MEMORY = 23 };
    char line[1024];
    process_text(pid, "stat", line, sizeof(line));
    const char *name = strchr(line, '('), *at = name ? strrchr(name, ')') : NULL;
    *s = (struct process_stat){.parent = 0};
    if (at)
        snprintf(s->name, sizeof(s->name), "%.*s", (int)(at - name - 1), name + 1);
    int field = 3;
    for (; field <= MEMORY && at && (at = strchr(at + 1, ' ')) != NULL; field++)
        if (field == PARENT)
            s->parent = (pid_t)strtol(at, NULL, 10);
        else if (field == SESSION)
            s->session = (pid_t)strtol(at, NULL, 10);
        else if (field == THREADS)
            s->runs = strtol(at, NULL, 10) > 1; /* where its first thread has ended, MEMORY is 0 */
        else if (field == START)
            s->start = strtoull(at, NULL, 10);
        else if (field == MEMORY)
            s->runs |= strtoull(at, NULL, 10) > 0;
    return field > MEMORY;
}

bool process_refused(pid_t id, char why[PROCESS_WHY]) {
    struct process_stat s;
    pid_t process = process_of_thread(id);
    if (!process_stat(id, &s))
        snprintf(why, PROCESS_WHY, "%d: no such process; give the id of a running one", (int)id);
    else if (process != 0 && process != id)
        snprintf(why, PROCESS_WHY, "%d: is a thread of process %d; give the id of the process", (int)id,
                 (int)process);
    else if (!s.runs)
        snprintf(why, PROCESS_WHY, "%d: runs no program: it is a kernel thread, or has ended", (int)id);
    else
        return false;
    return true;
}

uint64_t process_began_ns(uint64_t start) {
    double seconds = (double)start / (double)sysconf(_SC_CLK_TCK);
    return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + (uint64_t)(seconds * 1e9);
}

int kernel_version(void) {
    struct utsname name;
    char *end;
    if (uname(&name) != 0)
        return 0;
    long major = strtol(name.release, &end, 10), minor = strtol(end + (*end == '.'), NULL, 10);
    return (int)(major * 100 + minor);
}

pid_t process_of_folder(const char *name) {
    char *end;
    long number = name[0] >= '1' && name[0] <= '9' ? strtol(name, &end, 10) : 0;
    return number > 0 && number <= INT_MAX && *end == '\0' ? (pid_t)number : 0;
}

pid_t process_next(DIR *proc) {
    pid_t pid = 0;
    for (const struct dirent *e; proc && !pid && (e = readdir(proc));)
        pid = process_of_folder(e->d_name);
    return pid;
}
