/* SPDX-License-Identifier: MIT */
#include "own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

enum { FILE_PATH = ATTACH_CGROUP + 32 };

int own_folder_move(const char *cgroup, pid_t pid) {
    char file[FILE_PATH];
    snprintf(file, sizeof(file), "%s/cgroup.procs", cgroup);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int failed = dprintf(fd, "%d", (int)pid) > 0 ? 0 : -errno;
    close(fd);
    return failed;
}

/* Moves processes to the cgroup above.  Returns their number, or -errno. */
static int move_up(const char *path) {
    char file[FILE_PATH], copy[ATTACH_CGROUP], line[32];
    int moved = 0;
    snprintf(file, sizeof(file), "%s/cgroup.procs", path);
    snprintf(copy, sizeof(copy), "%s", path);
    const char *above = dirname(copy);
    FILE *processes = fopen(file, "re");
    if (!processes)
        return -errno;
    while (fgets(line, sizeof(line), processes))
        moved += own_folder_move(above, (pid_t)strtol(line, NULL, 10)) == 0;
    fclose(processes);
    return moved;
}

int own_folder_remove(const char *path) {
    enum { TRIES = 200 }; /* a second: the kernel counts a process a little longer than it runs */
    const struct timespec pause = {.tv_nsec = 5000000};
    for (int i = 0; i < TRIES; i++) {
        if (rmdir(path) == 0 || errno == ENOENT)
            return 0;
        if (errno != EBUSY)
            return -errno;
        if (move_up(path) <= 0)
            nanosleep(&pause, NULL);
    }
    return -EBUSY;
}
