/* SPDX-License-Identifier: MIT
 *
 * Where libunstall.so lies: beside the command, where both were installed to
 * (also when the whole tree was moved since), or in the build folder.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "launch.h"

#define NAME "libunstall.so"

/* Folders that may have it, as seen from the command's; CLI_LIBDIR_FROM_BIN is what leads
 * from bindir to libdir, and the last one does so in the build folder. */
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
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n > 0) {
        self[n] = '\0';
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = '\0';
        for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
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

const char *launch_library(const struct launch *l) {
    const char *path = l->library ? realpath(l->library, NULL) : library_installed();
    if (!path && l->library) {
        complain("--library %s: %s; give the path of libunstall.so", l->library, strerror(errno));
    } else if (!path) {
        complain(NAME ": neither beside the command nor in " CLI_LIBDIR
                      "; install it (meson install), or name it: --library FILE");
    } else if (access(path, R_OK) != 0) {
        complain("%s: %s", path, strerror(errno));
        path = NULL;
    } else if (without_exec(path)) {
        complain("%s: lies on a mount without exec, from where ld.so loads nothing; name another "
                 "copy: --library FILE",
                 path);
        path = NULL;
    } else if (strpbrk(path, " :")) {
        /* ld.so(8): either separates the libraries of LD_PRELOAD, and nothing quotes them */
        complain("%s: a space or colon in its path cannot be said in LD_PRELOAD; "
                 "name another copy: --library FILE",
                 path);
        path = NULL;
    }
    return path;
}
