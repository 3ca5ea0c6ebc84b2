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

/* A folder on tmpfs; EPERM: a symbolic link, or a folder that another user made or may write to. */
static bool is_own_in_memory(const char *path) {
    struct stat st;
    struct statfs fs;
    if (lstat(path, &st) != 0)
        return false;
    bool own = S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
    if (own && statfs(path, &fs) != 0)
        return false;
    if (own && fs.f_type == TMPFS_MAGIC)
        return true;
    errno = EPERM;
    return false;
}

enum { SHARED_ROOM = 64, TRIES = 100 };

static void shared_folder(char path[SHARED_ROOM]) {
    snprintf(path, SHARED_ROOM, "/dev/shm/unstall-%u", geteuid());
}

static bool make_in_own(const char *base, char *path, size_t size) {
    int n = snprintf(path, size, "%s/observe-XXXXXX", base);
    return n > 0 && (size_t)n < size && is_own_in_memory(base) && mkdtemp(path);
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
