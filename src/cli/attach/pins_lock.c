/* SPDX-License-Identifier: MIT */
#include "pins_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"

static int explain(int failed, char error[ATTACH_ERROR]) {
    snprintf(error, ATTACH_ERROR, "%s: %s", ATTACH_FOLDER, strerror(-failed));
    return failed;
}

static int judge(const struct stat *folder, char error[ATTACH_ERROR]) {
    enum { OF_OTHERS = 077 };
    if (!S_ISDIR(folder->st_mode))
        return explain(-ENOTDIR, error);
    if (folder->st_uid != 0 && folder->st_uid != geteuid())
        snprintf(error, ATTACH_ERROR,
                 "%s belongs to user %u, who may change what is pinned there; if it is empty, remove it: "
                 "rmdir %s",
                 ATTACH_FOLDER, (unsigned)folder->st_uid, ATTACH_FOLDER);
    else if (folder->st_mode & OF_OTHERS)
        snprintf(error, ATTACH_ERROR,
                 "%s has mode %o, so other users may change what is pinned there; close it: chmod 700 %s",
                 ATTACH_FOLDER, (unsigned)folder->st_mode & 0777, ATTACH_FOLDER);
    else
        return 0;
    return -EPERM;
}

int pins_check(char error[ATTACH_ERROR]) {
    struct stat folder;
    if (lstat(ATTACH_FOLDER, &folder) == 0)
        return judge(&folder, error);
    return errno == ENOENT ? -ENOENT : explain(-errno, error);
}

/* Another process may have removed the folder while we waited. */
static bool is_there(int folder) {
    struct stat ours, now;
    return fstat(folder, &ours) == 0 && lstat(ATTACH_FOLDER, &now) == 0 &&
           ours.st_ino == now.st_ino && ours.st_dev == now.st_dev;
}

static int wait_for(int folder, char error[ATTACH_ERROR]) {
    struct stat st;
    if (fstat(folder, &st) != 0)
        return explain(-errno, error);
    int failed = judge(&st, error);
    if (!failed && flock(folder, LOCK_EX) != 0)
        failed = explain(-errno, error);
    return failed;
}

/* A descriptor, with the lock if the folder is there; or -errno. */
static int open_and_wait(char error[ATTACH_ERROR]) {
    int folder = open(ATTACH_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return explain(-errno, error);
    int failed = wait_for(folder, error);
    if (!failed)
        return folder;
    close(folder);
    return failed;
}

int pins_lock(char error[ATTACH_ERROR]) {
    for (;;) {
        if (mkdir(ATTACH_FOLDER, 0700) != 0 && errno != EEXIST)
            return explain(-errno, error);
        int folder = open_and_wait(error);
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
