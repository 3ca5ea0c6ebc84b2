/* SPDX-License-Identifier: MIT */
#include "library.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "array.h"
#include "errors.h"
#include "python.h"

#define NAME "libunstall.so"

/* Folders to search, relative to the folder of the command: its own, the path from bindir to libdir, and the
 * path in the build folder. */
static const char *const folders[] = {".", CLI_LIBDIR_FROM_BIN, "../preload"};

static char *usable(const char *self, const char *folder) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s/" NAME, self, folder);
    if (n < 0 || (size_t)n >= sizeof(path) || access(path, R_OK) != 0)
        return NULL;
    return realpath(path, NULL);
}

const char *library_installed(void) {
    char self[PATH_MAX];
    if (command_itself(self)) {
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
            char *path = usable(self, folders[i]);
            if (path)
                return path;
        }
    }
    return usable(CLI_LIBDIR, ".");
}

static bool without_exec(const char *path) {
    struct statvfs mount;
    return statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOEXEC);
}

const char *library_find(const char *named) {
    const char *path = named ? realpath(named, NULL) : library_installed();
    if (!path && named) {
        complain("--library %s: %s; give the path of libunstall.so", named, strerror(errno));
    } else if (!path) {
        complain(NAME ": neither beside the command nor in " CLI_LIBDIR
                      "; install it (meson install), or name it: --library FILE");
    } else if (access(path, R_OK) != 0) {
        complain("%s: %s", path, strerror(errno));
        path = NULL;
    } else if (without_exec(path)) {
        complain("%s: is on a noexec mount, from which ld.so loads nothing; name another copy: "
                 "--library FILE",
                 path);
        path = NULL;
    } else if (strpbrk(path, " :")) {
        /* ld.so(8): both separate the libraries of LD_PRELOAD, and there is no quoting */
        complain("%s: its path has a space or colon, which LD_PRELOAD cannot express; name another "
                 "copy: --library FILE",
                 path);
        path = NULL;
    }
    return path;
}

static bool is_ours(const char *entry, size_t length) {
    size_t n = sizeof(NAME) - 1;
    return length >= n && memcmp(entry + length - n, NAME, n) == 0 &&
           (length == n || entry[length - n - 1] == '/');
}

char *preload_list(const char *own, const char *library) {
    size_t size = (own ? strlen(own) : 0) + strlen(library) + 2, used = 0;
    char *list = malloc(size);
    while (list && own && *own) {
        size_t length = strcspn(own, " :");
        if (length && !is_ours(own, length)) {
            memcpy(list + used, own, length);
            used += length;
            list[used++] = ':';
        }
        own += length + (own[length] != '\0');
    }
    if (list)
        memcpy(list + used, library, strlen(library) + 1);
    return list;
}
