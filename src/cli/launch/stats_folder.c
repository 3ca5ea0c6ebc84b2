/* SPDX-License-Identifier: MIT */
#include "stats_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "clock_ns.h"
#include "errors.h"
#include "process_stat.h"
#include "stats_files.h"

/* ---- old statistics --------------------------------------------------- */

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
    bool fits = (size_t)snprintf(path, sizeof(path), "%s/%s", folder, l->name) < sizeof(path);
    struct reader_file *r = fits ? reader_read(path, 0, &ignored) : NULL;
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
static struct left *find_ended(DIR *from, const char *folder, size_t *count, uint64_t *bytes) {
    struct left *list = NULL, l;
    for (const struct dirent *e; (e = readdir(from));) {
        if (!reader_is_name(e->d_name) || !is_own(dirfd(from), e->d_name, &l))
            continue;
        *bytes += l.bytes;
        if (has_ended(folder, &l))
            ARRAY_ADD(list, *count, l);
    }
    if (*count)
        qsort(list, *count, sizeof(*list), by_end);
    return list;
}

void stats_prune(const char *folder) {
    size_t count = 0, gone = 0;
    uint64_t bytes = 0, freed = 0;
    CLOSED_FOLDER *from = opendir(folder);
    if (!from)
        return;
    FREED struct left *list = find_ended(from, folder, &count, &bytes);
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
}

/* ---- the folder of observe -------------------------------------------- */

/* A folder on tmpfs; EPERM: a symbolic link, or a folder that another user made or may write to. */
static bool is_own_in_memory(const char *path) {
    errno = 0;
    if (!stats_folder_obstacle(path))
        return true;
    errno = errno ? errno : EPERM;
    return false;
}

enum { SHARED_ROOM = 64, TRIES = 100 };

static void shared_folder(char path[SHARED_ROOM]) {
    snprintf(path, SHARED_ROOM, "/dev/shm/unstall-%u", geteuid());
}

/* ---- folders of observes that were killed ----------------------------- */

#define NAME "unstall-observe-"

/* True if this is a statistics file that no process of this machine writes to any more. */
static bool is_left_file(const char *path) {
    struct reader_error ignored;
    struct reader_file *r = reader_read(path, 0, &ignored);
    CLOSED_FOLDER *proc = r ? opendir("/proc") : NULL;
    bool left = proc != NULL;
    for (pid_t pid; left && (pid = process_next(proc)) != 0;)
        left = reader_maps(pid, r->device, r->inode) != 1;
    reader_free(r);
    return left;
}

/* True if each file in it is one of statistics that no process writes to any more. */
static bool has_only_left(const char *path) {
    char name[PATH_MAX];
    CLOSED_FOLDER *folder = opendir(path);
    bool left = folder != NULL;
    for (const struct dirent *e; left && (e = readdir(folder));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            left = (size_t)snprintf(name, sizeof(name), "%s/%s", path, e->d_name) < sizeof(name) &&
                   is_left_file(name);
    return left;
}

/* True if its observe was killed.  One that has just been made may not have its lock yet. */
static bool is_left(const char *path) {
    enum { YOUNG_S = 60 };
    struct stat st;
    CLOSED_FD fd = is_own_in_memory(path) ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_mtime + YOUNG_S < time(NULL) &&
           flock(fd, LOCK_EX | LOCK_NB) == 0 && has_only_left(path);
}

static void remove_left(const char *base) {
    char path[PATH_MAX];
    size_t gone = 0;
    CLOSED_FOLDER *folder = opendir(base);
    for (const struct dirent *e; folder && (e = readdir(folder));) {
        if (strncmp(e->d_name, NAME, sizeof(NAME) - 1) != 0 ||
            (size_t)snprintf(path, sizeof(path), "%s/%s", base, e->d_name) >= sizeof(path) || !is_left(path))
            continue;
        observe_folder_remove(path);
        gone += access(path, F_OK) != 0;
    }
    if (gone)
        remark("%s: removed the statistics of %zu observe%s that had been killed", base, gone,
               gone == 1 ? "" : "s");
}

/* ---- a new one --------------------------------------------------------- */

/* The descriptor stays open: its lock ends with this process, and no program inherits it. */
static bool make_in_own(const char *base, char *path, size_t size) {
    if ((size_t)snprintf(path, size, "%s/" NAME "XXXXXX", base) >= size || !is_own_in_memory(base))
        return false;
    remove_left(base);
    if (!mkdtemp(path))
        return false;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || flock(fd, LOCK_SH) == 0;
}

int observe_folder_make(char *path, size_t size) {
    char shared[SHARED_ROOM];
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && runtime[0] == '/' && make_in_own(runtime, path, size))
        return 0;
    shared_folder(shared);
    for (int i = 0; i < TRIES; i++) { /* an observe that ends may remove the folder after our mkdir() */
        if (mkdir(shared, 0700) != 0 && errno != EEXIST)
            return complain("%s: %s; observe keeps its statistics in memory; set XDG_RUNTIME_DIR to a "
                            "folder on tmpfs",
                            shared, strerror(errno));
        if (make_in_own(shared, path, size))
            return 0;
        if (errno != ENOENT)
            break;
    }
    if (errno == EPERM)
        return complain("%s: is not your own folder on tmpfs; remove it, or set XDG_RUNTIME_DIR to "
                        "a folder on tmpfs",
                        shared);
    return complain("%s: %s", shared, strerror(errno));
}

void observe_folder_remove(const char *path) {
    CLOSED_FOLDER *folder = opendir(path);
    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (reader_is_name(entry->d_name))
            unlinkat(dirfd(folder), entry->d_name, 0);
    rmdir(path);
    char shared[SHARED_ROOM];
    shared_folder(shared);
    size_t length = strlen(shared);
    if (strncmp(path, shared, length) == 0 && path[length] == '/')
        rmdir(shared); /* fails while another observe uses it */
}
