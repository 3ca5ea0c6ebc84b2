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

struct walk {
    int (*open_one)(const void *);
    const void *with;
    const struct attach_scope *scope;
    ino_t *seen; /* namespaces */
    size_t count;
    bool away;       /* from our own one */
    unsigned closed; /* namespaces of the target that could not be entered */
    unsigned unknown; /* processes of the target whose namespace is not known */
    struct prose closed_names, unknown_names;
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
static bool is_new(struct walk *w, ino_t inode) {
    for (size_t i = 0; i < w->count; i++)
        if (w->seen[i] == inode)
            return false;
    ino_t *more = reallocarray(w->seen, w->count + 1, sizeof(*more));
    if (!more)
        return false;
    w->seen = more;
    w->seen[w->count++] = inode;
    return true;
}

static bool is_in(pid_t pid, const struct attach_scope *scope) {
    return scope->pid ? pid == scope->pid : attach_is_below(pid, scope->folder);
}

/* Adds the first few processes to a list of names; inode 0: its namespace is not known. */
static void name(struct prose *p, unsigned number, pid_t pid, ino_t inode) {
    enum { NAMED = 4 };
    struct process_stat s;
    if (number == NAMED + 1)
        prose_add(p, ", ...");
    if (number > NAMED)
        return;
    prose_add(p, "%s", number > 1 ? ", " : "");
    if (inode)
        prose_add(p, "net:[%lu] of ", (unsigned long)inode);
    prose_add(p, "%s (%d)", process_stat(pid, &s) ? s.name : "a process", (int)pid);
}

/* 0 or -errno. */
static int walk_one(struct walk *w, pid_t pid) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == EACCES || errno == EPERM) && is_in(pid, w->scope) &&
        process_has_command(pid))
        name(&w->unknown_names, ++w->unknown, pid, 0);
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) != 0 || !is_new(w, st.st_ino)) {
        close(fd);
        return 0;
    }
    bool entered = setns(fd, CLONE_NEWNET) == 0;
    close(fd);
    w->away |= entered;
    if (entered)
        return attach_run_iterator(w->open_one(w->with));
    if (is_in(pid, w->scope))
        name(&w->closed_names, ++w->closed, pid, st.st_ino);
    else
        w->count--; /* a process of the target may be in it, too */
    return 0;
}

static int walk_others(struct walk *w) {
    int failed = 0;
    DIR *proc = opendir("/proc");
    for (pid_t pid; failed == 0 && (pid = process_next(proc)) != 0;)
        failed = walk_one(w, pid);
    if (proc)
        closedir(proc);
    return failed;
}

static void tell_missed(const struct walk *w, struct prose *missed) {
    missed->used = 0;
    missed->text[0] = '\0';
    if (w->closed)
        prose_add(missed, "%u network namespace%s could not be entered (%s)", w->closed,
                  w->closed > 1 ? "s" : "", w->closed_names.text);
    if (w->unknown)
        prose_add(missed, "%s%u process%s may be in %s that are not known (%s)", w->closed ? ", and " : "",
                  w->unknown, w->unknown > 1 ? "es" : "", w->closed ? "others" : "network namespaces",
                  w->unknown_names.text);
}

int attach_walk(int (*open_one)(const void *), const void *with, const struct attach_scope *scope,
                struct prose *missed) {
    struct walk w = {.open_one = open_one, .with = with, .scope = scope};
    struct stat st;
    int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own < 0)
        return -errno;
    if (fstat(own, &st) == 0)
        is_new(&w, st.st_ino);
    int result = attach_run_iterator(open_one(with));
    if (result == 0)
        result = walk_others(&w);
    if (w.away && setns(own, CLONE_NEWNET) != 0 && result == 0)
        result = -errno;
    tell_missed(&w, missed);
    close(own);
    free(w.seen);
    return result;
}
