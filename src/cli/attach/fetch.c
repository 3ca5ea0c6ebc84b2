/* SPDX-License-Identifier: MIT */
#include "fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "array.h"
#include "process_stat.h"

/* The name of such a command: this and the id of its target, in the 15 characters that the kernel keeps. */
#define NAME "attach-"

/* A descriptor of the process that was looked at.  No copy of it is kept: the program's close()
 * must end the connection. */
struct attach_taken {
    int fd;
    uint64_t inode;
    bool cured, is_there;
    bool settled; /* needs no further look: cured, or no TCP connection */
};

static int pidfd_take(int pidfd, int fd) {
    return (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

/* 0 or -errno, also of a process without sockets: the kernel asks for the rights first. */
static int may_take(int pidfd) {
    int fd = pidfd_take(pidfd, 0);
    if (fd < 0)
        return errno == EBADF ? 0 : -errno;
    close(fd);
    return 0;
}

static int option(int fd, int level, int name) {
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

static uint16_t port_of(int fd, int (*name)(int, struct sockaddr *, socklen_t *)) {
    struct sockaddr_in6 a = {0}; /* the port is in the same place in sockaddr_in */
    socklen_t size = sizeof(a);
    return name(fd, (struct sockaddr *)&a, &size) == 0 ? ntohs(a.sin6_port) : 0;
}

static bool has_port(int fd, uint16_t port) {
    return port == 0 || port_of(fd, getsockname) == port || port_of(fd, getpeername) == port;
}

/* A connection that is not established yet is looked at again. */
static void cure_taken(struct attach_fetched *f, struct attach_taken *t, int fd) {
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    int one = 1;
    t->settled = true;
    if (option(fd, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_TCP ||
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_state == TCP_LISTEN)
        return;
    t->settled = info.tcpi_state == TCP_ESTABLISHED || info.tcpi_state == TCP_CLOSE_WAIT;
    if (!t->settled || !has_port(fd, f->port) || option(fd, IPPROTO_TCP, TCP_NODELAY) != 0)
        return;
    t->cured = setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0;
    f->cured += t->cured;
}

/* 0 or -errno. */
static int cure(struct attach_fetched *f, struct attach_taken *t) {
    CLOSED_FD fd = pidfd_take(f->pidfd, t->fd);
    if (fd < 0)
        return -errno;
    cure_taken(f, t, fd);
    return 0;
}

/* The folder lists descriptors in the same order each time, so the search begins after the last one found. */
static struct attach_taken *find(struct attach_fetched *f, size_t *at, int fd, uint64_t inode) {
    for (size_t i = 0; i < f->count; i++, (*at)++) {
        if (*at >= f->count)
            *at = 0;
        if (f->taken[*at].fd == fd && f->taken[*at].inode == inode)
            return &f->taken[*at];
    }
    bool added = ARRAY_ADD(f->taken, f->count, (struct attach_taken){.fd = fd, .inode = inode});
    return added ? &f->taken[f->count - 1] : NULL;
}

static void forget_closed(struct attach_fetched *f) {
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->taken[i].is_there)
            f->taken[kept++] = f->taken[i];
    f->count = kept;
}

int attach_fetch_look(struct attach_fetched *f) {
    int failed = 0;
    size_t at = 0;
    CLOSED_FOLDER *folder = process_folder(f->pid, "fd");
    if (!folder)
        return errno == ENOENT ? -ESRCH : -errno;
    for (size_t i = 0; i < f->count; i++)
        f->taken[i].is_there = false;
    for (const struct dirent *e; !failed && (e = readdir(folder));) {
        uint64_t inode = process_socket(dirfd(folder), e->d_name);
        struct attach_taken *t =
            inode ? find(f, &at, (int)strtol(e->d_name, NULL, 10), inode) : NULL;
        if (!t)
            continue;
        t->is_there = true;
        if (!t->settled)
            failed = cure(f, t);
        if (failed == -EBADF) /* closed meanwhile */
            failed = 0;
    }
    forget_closed(f);
    return failed;
}

int attach_fetch_begin(struct attach_fetched *f, pid_t pid, uint16_t port,
                       char error[ATTACH_ERROR]) {
    char name[32];
    *f = (struct attach_fetched){.pid = pid, .port = port};
    f->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int failed = f->pidfd < 0 ? -errno : may_take(f->pidfd);
    if (!failed)
        failed = attach_fetch_look(f);
    snprintf(name, sizeof(name), NAME "%d", (int)pid);
    if (!failed)
        return prctl(PR_SET_NAME, name);
    attach_fetch_end(f);
    if (failed == -ESRCH)
        snprintf(error, ATTACH_ERROR, "%d: no such process; give the id of a running one",
                 (int)pid);
    else if (failed == -ENOSYS)
        snprintf(error, ATTACH_ERROR, "the kernel has no pidfd_getfd; Linux 5.6 has it");
    else
        snprintf(error, ATTACH_ERROR, "%d: its sockets may not be taken (%s)", (int)pid,
                 strerror(-failed));
    return failed;
}

/* ---- who does it --------------------------------------------------------------------- */

static uid_t owner_of(pid_t pid) {
    char path[PROCESS_PATH];
    struct stat st;
    return stat(process_path(pid, "", path), &st) == 0 ? st.st_uid : (uid_t)-1;
}

/* A program of root's that another started (sudo by a link of such a name) is none of ours. */
static bool is_this_command(pid_t pid) {
    char program[PATH_MAX];
    const char *name = strrchr(process_file(pid, program, sizeof(program)), '/');
    return !name || strncmp(name + 1, "unstall", 7) == 0; /* not to be read: its owner decides */
}

/* Anybody may have such a name, but only root and the user of the target may take its sockets. */
static bool is_fetching(pid_t pid, struct attach_fetching *f) {
    struct process_stat s;
    if (!process_stat(pid, &s) || strncmp(s.name, NAME, sizeof(NAME) - 1) != 0)
        return false;
    *f = (struct attach_fetching){pid, process_of_folder(s.name + sizeof(NAME) - 1), s.start};
    uid_t user = owner_of(pid);
    return f->target && (user == 0 || user == owner_of(f->target)) && is_this_command(pid);
}

size_t attach_fetchings(struct attach_fetching **list) {
    struct attach_fetching f;
    CLOSED_FOLDER *proc = opendir("/proc");
    size_t count = 0;
    *list = NULL;
    for (pid_t pid; (pid = process_next(proc)) != 0;)
        if (is_fetching(pid, &f))
            ARRAY_ADD(*list, count, f);
    return count;
}

/* ---- the end ------------------------------------------------------------------------- */

static void restore(const struct attach_fetched *f, const struct attach_taken *t) {
    char path[64];
    int zero = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)f->pid, t->fd);
    CLOSED_FD fd = process_socket(AT_FDCWD, path) == t->inode ? pidfd_take(f->pidfd, t->fd) : -1;
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &zero, sizeof(zero));
}

void attach_fetch_end(struct attach_fetched *f) {
    for (size_t i = 0; i < f->count; i++)
        if (f->taken[i].cured)
            restore(f, &f->taken[i]);
    if (f->pidfd >= 0)
        close(f->pidfd);
    free(f->taken);
    f->taken = NULL;
    f->count = 0;
}
