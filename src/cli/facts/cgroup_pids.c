/* SPDX-License-Identifier: MIT */
#include "cgroup_pids.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static struct cgroup_pids *taken; /* nftw(3) passes no argument on */

static int take(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
    char name[PATH_MAX], line[32];
    (void)st, (void)ftw;
    if (kind != FTW_D ||
        (size_t)snprintf(name, sizeof(name), "%s/cgroup.procs", path) >= sizeof(name))
        return 0;
    FILE *f = fopen(name, "re");
    while (f && taken->count < CGROUP_PIDS && fgets(line, sizeof(line), f))
        taken->list[taken->count++] = (pid_t)strtol(line, NULL, 10);
    if (f)
        fclose(f);
    return 0;
}

void cgroup_pids(const char *folder, struct cgroup_pids *found) {
    enum { FOLDERS_OPEN = 16 };
    found->count = 0;
    taken = found;
    nftw(folder, take, FOLDERS_OPEN, FTW_PHYS);
}
