/* SPDX-License-Identifier: MIT */
#include "pins_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"

/* Another process may have removed the folder while we waited. */
static bool is_there(int folder) {
    struct stat ours, now;
    return fstat(folder, &ours) == 0 && stat(ATTACH_FOLDER, &now) == 0 &&
           ours.st_ino == now.st_ino && ours.st_dev == now.st_dev;
}

/* A descriptor, with the lock if the folder is there; or -errno. */
static int open_and_wait(void) {
    int folder = open(ATTACH_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -errno;
    if (flock(folder, LOCK_EX) == 0)
        return folder;
    int failed = -errno;
    close(folder);
    return failed;
}

int pins_lock(void) {
    for (;;) {
        if (mkdir(ATTACH_FOLDER, 0700) != 0 && errno != EEXIST)
            return -errno;
        int folder = open_and_wait();
        if (folder >= 0 && is_there(folder))
            return folder;
        if (folder >= 0)
            close(folder);
        else if (folder != -ENOENT)
            return folder;
    }
}

void pins_unlock(int lock) {
    if (lock < 0)
        return;
    rmdir(ATTACH_FOLDER);
    close(lock);
}
