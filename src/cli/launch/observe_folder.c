/* SPDX-License-Identifier: MIT */
#include "observe_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "errors.h"
#include "stats_format.h"

static bool is_tmpfs(const char *path) {
    struct statfs fs;
    return statfs(path, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

/* Refuses a symbolic link and a folder that another user made or may write to. */
static bool is_own(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

enum { SHARED_ROOM = 64 };

static void shared_folder(char path[SHARED_ROOM]) {
    snprintf(path, SHARED_ROOM, "/dev/shm/unstall-%u", geteuid());
}

static bool make_in(const char *base, char *path, size_t size) {
    int n = snprintf(path, size, "%s/observe-XXXXXX", base);
    return n > 0 && (size_t)n < size && mkdtemp(path);
}

int observe_folder_make(char *path, size_t size) {
    char shared[SHARED_ROOM];
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && runtime[0] == '/' && is_tmpfs(runtime) && is_own(runtime) &&
        make_in(runtime, path, size))
        return 0;
    shared_folder(shared);
    if (mkdir(shared, 0700) != 0 && errno != EEXIST)
        return complain("%s: %s; observe keeps its statistics in memory; set XDG_RUNTIME_DIR to a "
                        "folder on tmpfs",
                        shared, strerror(errno));
    if (!is_own(shared) || !is_tmpfs(shared))
        return complain("%s: is not your own folder on tmpfs; remove it, or set XDG_RUNTIME_DIR to "
                        "a folder on tmpfs",
                        shared);
    if (!make_in(shared, path, size))
        return complain("%s: %s", shared, strerror(errno));
    return 0;
}

void observe_folder_remove(const char *path) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name), end = strlen(STATS_SUFFIX);
        if (length > end && strcmp(entry->d_name + length - end, STATS_SUFFIX) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
    char shared[SHARED_ROOM];
    shared_folder(shared);
    size_t length = strlen(shared);
    if (strncmp(path, shared, length) == 0 && path[length] == '/')
        rmdir(shared); /* fails while another observe uses it */
}
