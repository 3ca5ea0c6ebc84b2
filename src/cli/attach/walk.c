/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process_stat.h"
#include "target.h"

struct seen {
    ino_t *inodes;
    size_t count;
};

int attach_run_iterator(int fd) {
    char text[4096];
    ssize_t n;
    if (fd < 0)
        return fd;
    while ((n = read(fd, text, sizeof(text))) > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
        ;
    int failed = n < 0 ? -errno : 0;
    close(fd);
    return failed;
}

/* True if this namespace has not been seen; then it is noted. */
static bool is_new(struct seen *s, ino_t inode) {
    for (size_t i = 0; i < s->count; i++)
        if (s->inodes[i] == inode)
            return false;
    ino_t *more = reallocarray(s->inodes, s->count + 1, sizeof(*more));
    if (!more)
        return false;
    s->inodes = more;
    s->inodes[s->count++] = inode;
    return true;
}

/* 0; 1 if the namespace could not be entered; or -errno. */
static int walk_one(const char *path, struct seen *seen, int (*open_one)(const void *),
                    const void *with) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES || errno == EPERM;
    if (fstat(fd, &st) != 0 || !is_new(seen, st.st_ino)) {
        close(fd);
        return 0;
    }
    int failed = setns(fd, CLONE_NEWNET) == 0 ? 0 : 1;
    close(fd);
    return failed ? failed : attach_run_iterator(open_one(with));
}

static bool is_in(pid_t pid, const struct attach_scope *scope) {
    return scope->pid ? pid == scope->pid : attach_is_below(pid, scope->folder);
}

/* The number of processes of the target with a namespace that could not be entered, or -errno. */
static int walk_others(struct seen *seen, int (*open_one)(const void *), const void *with,
                       const struct attach_scope *scope) {
    int failed = 0, missed = 0;
    DIR *proc = opendir("/proc");
    for (pid_t pid; failed >= 0 && (pid = process_next(proc)) != 0;) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
        failed = walk_one(path, seen, open_one, with);
        missed += failed > 0 && is_in(pid, scope);
    }
    if (proc)
        closedir(proc);
    return failed < 0 ? failed : missed;
}

int attach_walk(int (*open_one)(const void *), const void *with, const struct attach_scope *scope) {
    struct seen seen = {.inodes = NULL};
    struct stat st;
    int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own < 0)
        return -errno;
    if (fstat(own, &st) == 0)
        is_new(&seen, st.st_ino);
    int result = attach_run_iterator(open_one(with));
    if (result == 0)
        result = walk_others(&seen, open_one, with, scope);
    if (seen.count > 1 && setns(own, CLONE_NEWNET) != 0 && result == 0)
        result = -errno;
    close(own);
    free(seen.inodes);
    return result;
}
