/* SPDX-License-Identifier: MIT */
#include "observe_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"
#include "stats_files.h"
#include "stats_prune.h"

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

/* True if each file in it is one of statistics that no process writes to any more. */
static bool has_only_left(const char *path) {
    char name[PATH_MAX];
    DIR *folder = opendir(path);
    bool left = folder != NULL;
    for (const struct dirent *e; left && (e = readdir(folder));) {
        int n = snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            left = n > 0 && (size_t)n < sizeof(name) && stats_is_left(name);
    }
    if (folder)
        closedir(folder);
    return left;
}

/* True if its observe was killed.  One that has just been made may not have its lock yet. */
static bool is_left(const char *path) {
    enum { YOUNG_S = 60 };
    struct stat st;
    int fd = is_own_in_memory(path) ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    bool free = fd >= 0 && fstat(fd, &st) == 0 && st.st_mtime + YOUNG_S < time(NULL) &&
                flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return free && has_only_left(path);
}

static void remove_left(const char *base) {
    char path[PATH_MAX];
    size_t gone = 0;
    DIR *folder = opendir(base);
    for (const struct dirent *e; folder && (e = readdir(folder));) {
        int n = snprintf(path, sizeof(path), "%s/%s", base, e->d_name);
        if (strncmp(e->d_name, NAME, sizeof(NAME) - 1) != 0 || n < 0 || (size_t)n >= sizeof(path) ||
            !is_left(path))
            continue;
        observe_folder_remove(path);
        gone += access(path, F_OK) != 0;
    }
    if (folder)
        closedir(folder);
    if (gone)
        remark("%s: removed the statistics of %zu observe%s that had been killed", base, gone,
               gone == 1 ? "" : "s");
}

/* ---- a new one --------------------------------------------------------- */

/* The descriptor stays open: its lock ends with this process, and no program inherits it. */
static bool make_in_own(const char *base, char *path, size_t size) {
    int n = snprintf(path, size, "%s/" NAME "XXXXXX", base);
    if (n < 0 || (size_t)n >= size || !is_own_in_memory(base))
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
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL)
        if (reader_is_name(entry->d_name))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(path);
    char shared[SHARED_ROOM];
    shared_folder(shared);
    size_t length = strlen(shared);
    if (strncmp(path, shared, length) == 0 && path[length] == '/')
        rmdir(shared); /* fails while another observe uses it */
}
