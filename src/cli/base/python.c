/* SPDX-License-Identifier: MIT */
#include "python.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "array.h"

/* Folders to search, relative to the folder of the command: where the parts are installed to, and its own, in
 * which src/cli/meson.build makes links to the sources.  No path of the build is compiled in: an installed
 * command must not run code from there, and two builds must be equal. */
static const char *const folders[] = {CLI_PYTHON_FROM_BIN, "."};

bool command_itself(char path[PATH_MAX]) {
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    return true;
}

bool python_part(const char *name, char path[PATH_MAX]) {
    char self[PATH_MAX];
    if (!command_itself(self))
        return false;
    int folder = (int)(strrchr(self, '/') - self);
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        int n = snprintf(path, PATH_MAX, "%.*s/%s/%s/__main__.py", folder, self, folders[i], name);
        if (n < PATH_MAX && access(path, R_OK) == 0) {
            *strrchr(path, '/') = '\0';
            return true;
        }
    }
    return false;
}
