/* SPDX-License-Identifier: MIT
 *
 * Finds, lists and removes the pins of attachments.
 */
#include "pins.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "array.h"
#include "attach.h"
#include "closing.h"
#include "reader.h"

void attach_pin_path(const char *name, enum pin pin, char path[PIN_PATH]) {
    static const char *const pins[] = {
        [PIN_CONFIG] = "/config",           [PIN_SOCKETS] = "/sockets",   [PIN_RESTORE] = "/restore",
        [PIN_SET] = "/setsockopt",          [PIN_GET] = "/getsockopt",    [PIN_CONNECTIONS] = "/connections",
        [PIN_ARMS] = "/arms",               [PIN_SENT] = "/sent",         [PIN_RECEIVED] = "/received",
        [PIN_DATA] = "/data",               [PIN_STATE] = "/state",       [PIN_EVENTS] = "/events",
        [PIN_CREATE] = "/create",           [PIN_FOLDER] = "",
    };
    snprintf(path, PIN_PATH, ATTACH_FOLDER "/%s%s", name, pins[pin]);
}

int attach_pin_open(const char *name, enum pin pin) {
    char path[PIN_PATH];
    attach_pin_path(name, pin, path);
    int fd = bpf_obj_get(path);
    return fd < 0 ? -errno : fd;
}

/* ---- the folder of all ------------------------------------------------------------ */

static int explain(int failed, char error[ATTACH_ERROR]) {
    snprintf(error, ATTACH_ERROR, "%s: %s%s", ATTACH_FOLDER, strerror(-failed),
             reader_refused(-failed, ROOT));
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

/* 0 if the folder may be used; -ENOENT: there is none; else -errno with a sentence. */
static int check(char error[ATTACH_ERROR]) {
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

/* ---- finding and listing ---------------------------------------------------------- */

void attach_look(const char *name, struct attach_state *s) {
    char path[PIN_PATH], ignored[ATTACH_ERROR];
    struct bpf_map_info info = {0};
    __u32 size = sizeof(info), key = 0;
    *s = (struct attach_state){.known = false};
    snprintf(s->name, sizeof(s->name), "%s", name);
    attach_pin_path(name, PIN_FOLDER, path);
    s->there = check(ignored) == 0 && access(path, F_OK) == 0;
    CLOSED_FD map = s->there ? attach_pin_open(name, PIN_CONFIG) : -1;
    s->known =
        map >= 0 && bpf_obj_get_info_by_fd(map, &info, &size) == 0 && info.value_size == sizeof(s->config) &&
        bpf_map_lookup_elem(map, &key, &s->config) == 0 && s->config.version == ATTACH_VERSION;
}

int attach_list(struct attach_state **list, size_t *count, char error[ATTACH_ERROR]) {
    *list = NULL;
    *count = 0;
    int refused = check(error);
    if (refused)
        return refused == -ENOENT ? 0 : refused;
    CLOSED_FOLDER *folder = opendir(ATTACH_FOLDER);
    if (!folder)
        return errno == ENOENT ? 0 : explain(-errno, error);
    for (const struct dirent *e; (e = readdir(folder));)
        if (e->d_name[0] != '.' && ARRAY_ADD(*list, *count, (struct attach_state){.known = false}))
            attach_look(e->d_name, &(*list)[*count - 1]);
    return 0;
}

/* ---- taking away ------------------------------------------------------------------ */

/* These, the last one first.  A link also gets detached from its cgroup: another process may have a
 * descriptor of it, and removing the pin would then not end it.  (The kernel refuses that of a map, and of
 * `restore`.) */
static void take_away(const char *name, enum pin first, enum pin last) {
    char path[PIN_PATH];
    for (int pin = (int)last; pin >= (int)first; pin--) {
        attach_pin_path(name, (enum pin)pin, path);
        CLOSED_FD fd = bpf_obj_get(path);
        if (fd >= 0)
            bpf_link_detach(fd);
        unlink(path);
    }
}

static int open_restore(const void *name) {
    char path[PIN_PATH];
    attach_pin_path(name, PIN_RESTORE, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static bool is_pinned(const char *name, enum pin pin) {
    char path[PIN_PATH];
    attach_pin_path(name, pin, path);
    return access(path, F_OK) == 0;
}

/* `restore` is pinned before the others, and taken away after them.  So where it is missing beside one of
 * these, another program has removed it, and sockets may have our values. */
static int ensure_restore(const struct attach_state *s, char error[ATTACH_ERROR]) {
    bool may_be_set = is_pinned(s->name, PIN_SET) || is_pinned(s->name, PIN_GET) ||
                      is_pinned(s->name, PIN_EVENTS);
    if (is_pinned(s->name, PIN_RESTORE) || !may_be_set)
        return 0;
    int failed = s->known ? attach_pin_restore_again(s->name) : -ENOENT;
    if (failed)
        snprintf(error, ATTACH_ERROR,
                 "%s/%s/restore is missing and cannot be made again (%s): cured connections keep "
                 "TCP_NODELAY until they end; rm -r %s/%s ends the cure of new ones",
                 ATTACH_FOLDER, s->name, strerror(-failed), ATTACH_FOLDER, s->name);
    return failed;
}

/* The sockets get their values back, and a second time once nothing new is cured.  No walk finds a
 * disconnected socket; the program of events puts its values back, so it stays until then.  The programs that
 * answer getsockopt(2) go last. Each step may be repeated: the end after a SIGKILL in the middle goes on. */
int attach_end(const char *name, char error[ATTACH_ERROR]) {
    char path[PIN_PATH], ignored[ATTACH_ERROR];
    struct prose missed = {.used = 0};
    struct attach_state s;
    int refused = check(error);
    if (refused)
        return refused;
    attach_look(name, &s);
    if (!s.there)
        return -ENOENT;
    refused = ensure_restore(&s, error);
    if (refused)
        return refused == -ENOENT ? -EIO : refused; /* -ENOENT: there is no attachment */
    const struct attach_scope scope = {s.config.pid, s.config.path};
    take_away(name, PIN_CREATE, PIN_CREATE);
    take_away(name, PIN_CONNECTIONS, PIN_STATE);
    attach_walk(open_restore, name, &scope, &missed);
    take_away(name, PIN_EVENTS, PIN_EVENTS);
    int walked = attach_walk(open_restore, name, &scope, &missed);
    if (walked < 0 && walked != -ENOENT) { /* -ENOENT: it came to its end before anything was set */
        snprintf(error, ATTACH_ERROR,
                 "the sockets could not be put back (%s); their record is kept: try again",
                 strerror(-walked));
        return walked;
    }
    take_away(name, PIN_CONFIG, PIN_GET);
    attach_pin_path(name, PIN_FOLDER, path);
    int failed = rmdir(path) == 0 || errno == ENOENT ? 0 : -errno;
    pins_unlock(pins_lock(ignored)); /* removes the folder above if it was the last one */
    if (failed)
        snprintf(error, ATTACH_ERROR, "%s: %s", path, strerror(-failed));
    else if (missed.used)
        snprintf(error, ATTACH_ERROR,
                 "%s: connections there keep TCP_NODELAY until they end (CAP_SYS_ADMIN and CAP_SYS_PTRACE "
                 "reach them)",
                 missed.text);
    return failed;
}
