/* SPDX-License-Identifier: MIT */
#include "stats_prune.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock_ns.h"
#include "errors.h"
#include "process_stat.h"
#include "reader.h"

enum { MOST_MB = 64, MOST_DAYS = 7 };

static const uint64_t MB = 1000000, DAY_NS = UINT64_C(86400) * 1000000000;

struct left {
    char name[NAME_MAX + 1];
    uint64_t age_ns; /* since its end */
    uint64_t bytes;    /* in memory */
};

/* A regular file of ours. */
static bool is_own(int folder, const char *name, struct left *l) {
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
        st.st_uid != geteuid())
        return false;
    l->bytes = (uint64_t)st.st_blocks * 512;
    snprintf(l->name, sizeof(l->name), "%s", name);
    return true;
}

/* The times of a life are of CLOCK_MONOTONIC, which stands still while the machine sleeps: the start has both
 * clocks, the end only that one.  The shorter age counts; a later end than now is of an earlier boot. */
static uint64_t age_of(const struct stats_header *h) {
    uint64_t now = clock_ns(CLOCK_REALTIME), awake = clock_ns(CLOCK_MONOTONIC);
    uint64_t ended = h->started_ns + (h->ended_monotonic_ns - h->started_monotonic_ns);
    uint64_t age = now > ended ? now - ended : 0;
    if (awake >= h->ended_monotonic_ns && awake - h->ended_monotonic_ns < age)
        age = awake - h->ended_monotonic_ns;
    return age;
}

static bool has_ended(const char *folder, struct left *l) {
    char path[PATH_MAX];
    struct reader_error ignored;
    int n = snprintf(path, sizeof(path), "%s/%s", folder, l->name);
    struct reader_file *r =
        n > 0 && (size_t)n < sizeof(path) ? reader_read(path, 0, &ignored) : NULL;
    if (!r)
        return false;
    const struct stats_header *h = &r->header;
    bool ended = r->life == LIFE_ENDED && reader_maps((pid_t)h->pid, r->device, r->inode) != 1;
    l->age_ns = age_of(h);
    reader_free(r);
    return ended;
}

static int by_end(const void *a, const void *b) {
    const struct left *x = a, *y = b;
    return (x->age_ns < y->age_ns) - (x->age_ns > y->age_ns);
}

/* The files of ended processes, the oldest first; *bytes: of all statistics files of ours. */
static struct left *find(DIR *from, const char *folder, size_t *count, uint64_t *bytes) {
    struct left *list = NULL, *more, l;
    for (const struct dirent *e; (e = readdir(from));) {
        if (!reader_is_name(e->d_name) || !is_own(dirfd(from), e->d_name, &l))
            continue;
        *bytes += l.bytes;
        if (has_ended(folder, &l) && (more = reallocarray(list, *count + 1, sizeof(*list))) != NULL) {
            list = more;
            list[(*count)++] = l;
        }
    }
    if (*count)
        qsort(list, *count, sizeof(*list), by_end);
    return list;
}

void stats_prune(const char *folder) {
    size_t count = 0, gone = 0;
    uint64_t bytes = 0, freed = 0;
    DIR *from = opendir(folder);
    if (!from)
        return;
    struct left *list = find(from, folder, &count, &bytes);
    for (size_t i = 0; i < count; i++) {
        bool old = list[i].age_ns > MOST_DAYS * DAY_NS;
        if (!old && bytes - freed <= MOST_MB * MB)
            break;
        if (unlinkat(dirfd(from), list[i].name, 0) == 0) {
            freed += list[i].bytes;
            gone++;
        }
    }
    if (gone)
        remark("%s: removed %zu statistics file%s of processes that have ended, %.1f MB: older than %d days, "
               "or the oldest beyond %d MB",
               folder, gone, gone == 1 ? "" : "s", (double)freed / 1e6, MOST_DAYS, MOST_MB);
    free(list);
    closedir(from);
}

bool stats_is_left(const char *path) {
    struct reader_error ignored;
    struct reader_file *r = reader_read(path, 0, &ignored);
    DIR *proc = r ? opendir("/proc") : NULL;
    bool left = proc != NULL;
    for (pid_t pid; left && (pid = process_next(proc)) != 0;)
        left = reader_maps(pid, r->device, r->inode) != 1;
    if (proc)
        closedir(proc);
    reader_free(r);
    return left;
}
