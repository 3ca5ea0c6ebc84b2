/* SPDX-License-Identifier: MIT
 *
 * Finds the statistics file of a process by its memory map.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "columns.h"
#include "reader_parts.h"

static bool ends_in(const char *text, size_t length, const char *end) {
    size_t n = strlen(end);
    return length >= n && memcmp(text + length - n, end, n) == 0;
}

static bool parse(char *line, struct reader_mapping *m) {
    static const char deleted[] = " (deleted)";
    uint64_t major_number, minor_number;
    const char *at = line;
    line[strcspn(line, "\n")] = '\0';
    /* 7f1c2000-7f1c3000 r--p 00001000 fe:01 4711   /path: addresses, rights, offset, device, inode */
    if (!columns_skip(&at, 3) || !column_number(&at, 16, UINT32_MAX, &major_number) ||
        *at++ != ':' || !column_number(&at, 16, UINT32_MAX, &minor_number) ||
        !column_number(&at, 10, UINT64_MAX, &m->inode))
        return false;
    m->device = makedev((unsigned)major_number, (unsigned)minor_number);
    m->path = at + strspn(at, " ");
    size_t length = strlen(m->path);
    m->is_deleted = ends_in(m->path, length, deleted);
    if (m->is_deleted)
        line[m->path - line + (ptrdiff_t)(length - (sizeof(deleted) - 1))] = '\0';
    return true;
}

int reader_each_mapping(pid_t pid, bool (*found)(const struct reader_mapping *, void *), void *context) {
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(name, "re");
    if (!maps)
        return errno == ENOENT ? -ESRCH : -errno;
    char *line = NULL;
    size_t size = 0;
    struct reader_mapping m;
    errno = 0;
    while (getline(&line, &size, maps) > 0)
        if (parse(line, &m) && found(&m, context))
            break;
    int error = ferror(maps) ? -errno : 0;
    free(line);
    fclose(maps);
    return error;
}

struct wanted {
    uint64_t device, inode;
    bool is_there;
};

static bool is_wanted(const struct reader_mapping *m, void *context) {
    struct wanted *w = context;
    return w->is_there = m->device == w->device && m->inode == w->inode;
}

int reader_maps(pid_t pid, uint64_t device, uint64_t inode) {
    struct wanted w = {.device = device, .inode = inode};
    if (pid <= 0)
        return 0;
    int error = reader_each_mapping(pid, is_wanted, &w);
    return error ? error : w.is_there;
}

struct search {
    char path[4096];
    uint64_t device, inode;
    bool has_memory, has_library, has_file, is_deleted;
};

static bool is_stats_file(const struct reader_mapping *m, void *context) {
    struct search *s = context;
    s->has_memory = true;
    size_t length = strlen(m->path);
    if (strstr(m->path, "/libunstall"))
        s->has_library = true;
    if (m->path[0] != '/' || !ends_in(m->path, length, STATS_SUFFIX) || length >= sizeof(s->path))
        return false;
    memcpy(s->path, m->path, length + 1);
    s->device = m->device;
    s->inode = m->inode;
    s->has_file = true;
    s->is_deleted = m->is_deleted;
    return !m->is_deleted;
}

static bool is_file(const char *path, const struct search *s) {
    struct stat st;
    return lstat(path, &st) == 0 && st.st_dev == s->device && st.st_ino == s->inode;
}

const char *reader_refused(int error, enum reader_who who) {
    if ((error != EACCES && error != EPERM) || geteuid() == 0)
        return "";
    return who == ROOT ? "; run this as root" : "; run this as its user or as root";
}

const char *reader_who_may(void) {
    const char *who = reader_refused(EPERM, ITS_USER_OR_ROOT);
    return who[0] ? who + strlen("; ") : "this needs CAP_SYS_PTRACE, which this root lacks";
}

int reader_find(pid_t pid, char *path, size_t size, struct reader_error *error) {
    struct search s = {.has_library = false};
    int failed = reader_each_mapping(pid, is_stats_file, &s);
    if (!failed && !s.has_memory) /* a zombie, or a kernel thread */
        failed = -ESRCH;
    if (failed == -ESRCH)
        reader_fail(
            error,
            "%d: no such process; if it has ended, give unstall report its statistics file or the "
            "folder of UNSTALL_STATS",
            (int)pid);
    else if (failed)
        reader_fail(error, "%d: its memory map cannot be read: %s; %s", (int)pid, strerror(-failed),
                    reader_who_may());
    if (failed)
        return failed;
    if (s.has_file) {
        /* If the process lives in another mount namespace, the path is below its own root. */
        int n = snprintf(path, size, "%s", s.path);
        if (n > 0 && (size_t)n < size && is_file(path, &s))
            return 0;
        n = snprintf(path, size, "/proc/%d/root%s", (int)pid, s.path);
        if (n > 0 && (size_t)n < size && is_file(path, &s))
            return 0;
        reader_fail(error, "%d: its statistics file %s %s; start the program anew", (int)pid, s.path,
                    s.is_deleted ? "has been deleted" : "cannot be reached");
    } else if (s.has_library) {
        reader_fail(error,
                    "%d: has the library, but keeps no statistics; start it with unstall observe, "
                    "or with UNSTALL_STATS=DIR",
                    (int)pid);
    } else {
        reader_fail(error,
                    "%d: runs without the library, so it has no statistics; unstall observe %d tells its "
                    "stalls, unstall attach %d cures them",
                    (int)pid, (int)pid, (int)pid);
    }
    return -ENOENT;
}
