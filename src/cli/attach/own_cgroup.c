/* SPDX-License-Identifier: MIT */
#include "own_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apart.h"
#include "own_folder.h"

enum { FILE_PATH = ATTACH_CGROUP + 32 };

/* The message to the guard, and its answer. */
struct order {
    struct attach_options options;
    struct attach_target target;
    pid_t program;
};

struct answer {
    int failed;
    char error[ATTACH_ERROR];
};

/* ---- the cgroup --------------------------------------------------------------------- */

/* An empty cgroup of this name is left from an earlier process with this id after its guard was killed. */
static int make(struct attach_target *t) {
    struct stat st;
    rmdir(t->path);
    if (mkdir(t->path, 0755) != 0 || stat(t->path, &st) != 0)
        return -errno;
    t->cgroup = st.st_ino;
    return 0;
}

static int open_events(const char *cgroup) {
    char file[FILE_PATH];
    snprintf(file, sizeof(file), "%s/cgroup.events", cgroup);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    int above = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, APART_KEPT + 1);
    int result = above < 0 ? -errno : above;
    if (fd >= 0)
        close(fd);
    return result;
}

static int make_and_attach(struct order *o, char error[ATTACH_ERROR]) {
    struct attach_target *t = &o->target;
    if (attach_is_there(t->name)) {
        snprintf(error, ATTACH_ERROR,
                 "%s is left of a run whose guard was killed; remove it: unstall detach %s",
                 t->path, t->name);
        return -EEXIST;
    }
    int failed = make(t);
    if (failed)
        snprintf(error, ATTACH_ERROR, "%s: %s", t->path, strerror(-failed));
    else if ((failed = attach_begin(t, &o->options, error)) != 0)
        own_folder_remove(t->path);
    return failed;
}

/* The descriptor of cgroup.events, or -errno with a sentence. */
static int enter(struct order *o, char error[ATTACH_ERROR]) {
    char ignored[ATTACH_ERROR];
    int failed = make_and_attach(o, error);
    if (failed)
        return failed;
    int events = open_events(o->target.path);
    failed = events < 0 ? events : own_folder_move(o->target.path, o->program);
    if (!failed)
        return events;
    attach_end(o->target.name, ignored);
    snprintf(error, ATTACH_ERROR, "%s: the program cannot be moved there (%s)", o->target.path,
             strerror(-failed));
    return failed;
}

/* ---- the guard ----------------------------------------------------------------------- */

/* poll(2) reports a change of `events` by POLLPRI; the file cannot be read once the cgroup is removed. */
static bool has_processes(int events) {
    char text[128] = "";
    return pread(events, text, sizeof(text) - 1, 0) > 0 && strstr(text, "populated 1");
}

static void wait_until_empty(int events) {
    struct pollfd change = {.fd = events, .events = POLLPRI};
    while (has_processes(events))
        poll(&change, 1, -1);
}

static void guard(int channel) {
    struct order o;
    struct answer a = {.failed = 0};
    if (recv(channel, &o, sizeof(o), 0) != sizeof(o))
        _exit(1);
    int events = enter(&o, a.error);
    a.failed = events < 0 ? events : 0;
    ssize_t told = send(channel, &a, sizeof(a), MSG_NOSIGNAL);
    if (events < 0)
        _exit(1);
    (void)told; /* if the program has ended meanwhile, the cgroup is empty */
    apart_let_go(events, "unstall-cgroup");
    wait_until_empty(APART_KEPT);
    attach_end(o.target.name, a.error);
    _exit(0);
}

/* ---- the program-to-be ----------------------------------------------------------------- */

static int ask(int channel, const struct order *o, char error[ATTACH_ERROR]) {
    struct answer a;
    if (send(channel, o, sizeof(*o), MSG_NOSIGNAL) != sizeof(*o) ||
        recv(channel, &a, sizeof(a), 0) != sizeof(a)) {
        snprintf(error, ATTACH_ERROR, "the guard of its cgroup was killed");
        return -ESRCH;
    }
    if (a.failed)
        memcpy(error, a.error, ATTACH_ERROR);
    return a.failed;
}

int own_cgroup_begin(const struct attach_options *options, uint16_t port, char name[ATTACH_NAME],
                     char error[ATTACH_ERROR]) {
    struct order o = {.options = *options, .program = getpid()};
    char ignored[ATTACH_ERROR];
    int ends[2];
    int failed = attach_find_new(o.program, port, &o.target, error);
    if (failed)
        return failed;
    memcpy(name, o.target.name, ATTACH_NAME);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    fflush(NULL);
    failed = apart_start(guard, ends[1], ends[0]);
    close(ends[1]);
    if (!failed)
        failed = ask(ends[0], &o, error);
    close(ends[0]);
    if (failed == -ESRCH) { /* its folders; nothing of another run has this name */
        attach_end(name, ignored);
        own_folder_remove(o.target.path);
    }
    return failed;
}
