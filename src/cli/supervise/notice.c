/* SPDX-License-Identifier: MIT */
#include "worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process_stat.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1) /* Linux 5.14 */
#endif

static bool rings; /* a process of the tree has set up an io_uring */

/* ---- the task -------------------------------------------------------- */

/* A descriptor for the waiting task, or -1.  While its call waits, its id cannot belong to another task. */
static int open_task(int listener, const struct seccomp_notif *call) {
    pid_t task = (pid_t)call->pid;
    if (task <= 0)
        return -1; /* in a PID namespace that we do not see */
    long found = syscall(SYS_pidfd_open, task, PIDFD_THREAD);
    if (found < 0)
        found = syscall(SYS_pidfd_open, task, 0);
    if (found < 0 && (task = process_of_thread(task)) > 0) /* a thread, before Linux 6.9 */
        found = syscall(SYS_pidfd_open, task, 0);
    if (found >= 0 && ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) != 0) {
        close((int)found);
        return -1;
    }
    return (int)found;
}

/* ---- is the call the library's? -------------------------------------- */

/* The supervisor leaves the connections of calls that the preloaded library sees to it. */

enum { REMEMBERED = 64 };

/* Remembers answers by task and address.  Address space randomization changes the address of a call at each
 * exec; without it an old answer may belong to the program before the exec. */
static struct answer {
    pid_t task;
    bool seen;
    uint64_t address;
} remembered[REMEMBERED];

static bool begins(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

static bool is_libc(const char *name) {
    return begins(name, "libc.so") || begins(name, "libc-2.") || begins(name, "libpthread") ||
           begins(name, "ld-musl-");
}

static bool ask(pid_t task, uint64_t address) {
    char line[4096 + 128];
    bool loaded = false, inside = false;
    FILE *maps = process_open(task, "maps");
    if (!maps)
        return false;
    while (!(loaded && inside) && fgets(line, sizeof(line), maps)) {
        char *end;
        const char *name = strrchr(line, '/');
        if (!name)
            continue;
        uint64_t from = strtoull(line, &end, 16), to = strtoull(end + (*end == '-'), NULL, 16);
        bool ours = begins(++name, "libunstall.so");
        loaded |= ours;
        inside |= (ours || is_libc(name)) && address >= from && address < to;
    }
    fclose(maps);
    return loaded && inside;
}

/* True if the task has libunstall.so mapped and made the call at this address inside libc or the library.
 * Calls made inline (Go, raw system calls, liburing) come from elsewhere. */
static bool library_call(pid_t task, uint64_t address) {
    struct answer *a = &remembered[((uint64_t)task * 31 + (address >> 2)) % REMEMBERED];
    if (a->task != task || a->address != address)
        *a = (struct answer){task, ask(task, address), address};
    return a->seen;
}

/* ---- would a socket of ours be one of the task's? -------------------- */

enum { TEXT = 4096 };

static bool same_namespace(pid_t task, const char *name) {
    char path[64], own[64];
    struct stat theirs, ours;
    snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)task, name);
    snprintf(own, sizeof(own), "/proc/self/ns/%s", name);
    return stat(path, &theirs) == 0 && stat(own, &ours) == 0 && theirs.st_ino == ours.st_ino &&
           theirs.st_dev == ours.st_dev;
}

static bool same_text(pid_t task, const char *name) {
    char theirs[TEXT], ours[TEXT];
    return process_text(task, name, theirs, TEXT) == process_text(getpid(), name, ours, TEXT) &&
           strcmp(theirs, ours) == 0;
}

/* The lines "Uid:" and "Gid:" of status, with all four ids each. */
static const char *ids_of(pid_t task, char text[TEXT], size_t *length) {
    process_text(task, "status", text, TEXT);
    char *from = strstr(text, "\nUid:"), *to = from ? strstr(from, "\nGid:") : NULL;
    to = to ? strchr(to + 1, '\n') : NULL;
    if (!to)
        return NULL;
    *length = (size_t)(to - from);
    return from;
}

static bool same_user(pid_t task) {
    char theirs[TEXT], ours[TEXT];
    size_t length = 0, own = 0;
    const char *a = ids_of(task, theirs, &length), *b = ids_of(getpid(), ours, &own);
    return a && b && length == own && memcmp(a, b, length) == 0;
}

/* True if task and supervisor have the same network and user namespace, user, group, cgroup and security
 * label, which a socket takes from its creator.  False if /proc cannot be read. */
static bool same_place(pid_t task) {
    return same_namespace(task, "net") && same_namespace(task, "user") && same_user(task) &&
           same_text(task, "cgroup") && same_text(task, "attr/current");
}

/* ---- its sockets ----------------------------------------------------- */

static bool is_tcp(int fd) {
    int protocol = 0;
    socklen_t size = sizeof(protocol);
    return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
           (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP);
}

static bool set_nodelay(int fd) {
    int on = 1;
    return is_tcp(fd) && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0;
}

/* 0, or -errno: -EPERM the task may not be inspected, -ENOPROTOOPT it is no TCP socket. */
static int cure(int task, int fd) {
    int copy = (int)syscall(SYS_pidfd_getfd, task, fd, 0);
    if (copy < 0)
        return -errno;
    bool set = set_nodelay(copy);
    close(copy);
    return set ? 0 : -ENOPROTOOPT;
}

static bool may_inspect(int task) {
    return cure(task, -1) == -EBADF;
}

/* Each TCP socket of the task: a ring may connect and write it without a call that we see. */
static void cure_all(int task, pid_t id) {
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)id);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.' && cure(task, (int)strtol(entry->d_name, NULL, 10)) == -EPERM)
            break;
    if (folder)
        closedir(folder);
}

/* ---- socket(2) ------------------------------------------------------- */

/* Makes the socket for the task.  If anything fails, the kernel makes the task's own call. */
static enum notice_answer make_socket(int listener, const struct seccomp_notif *call) {
    int type = (int)call->data.args[1];
    int fd = socket((int)call->data.args[0], type | SOCK_CLOEXEC, (int)call->data.args[2]);
    if (fd < 0)
        return NOTICE_GO_ON;
    struct seccomp_notif_addfd given = {
        .id = call->id,
        .flags = SECCOMP_ADDFD_FLAG_SEND,
        .srcfd = (uint32_t)fd,
        .newfd_flags = type & SOCK_CLOEXEC ? O_CLOEXEC : 0,
    };
    bool sent = set_nodelay(fd) && ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given) >= 0;
    close(fd);
    return sent ? NOTICE_ANSWERED : NOTICE_GO_ON;
}

/* ---- the calls ------------------------------------------------------- */

/* connect(2), listen(2): TCP_NODELAY before the call. */
static enum notice_answer before(int task, const struct seccomp_notif *call) {
    if (rings || !library_call((pid_t)call->pid, call->data.instruction_pointer))
        cure(task, (int)call->data.args[0]);
    return NOTICE_GO_ON;
}

/* setsockopt(2) of TCP_NODELAY, with any value.  A call that the kernel refuses goes on to the kernel. */
static enum notice_answer own_nodelay(int task, const struct seccomp_notif *call) {
    bool refused = !call->data.args[3] || (int)call->data.args[4] < (int)sizeof(int);
    if (refused || (!rings && library_call((pid_t)call->pid, call->data.instruction_pointer)))
        return NOTICE_GO_ON;
    return cure(task, (int)call->data.args[0]) == 0 ? NOTICE_DONE : NOTICE_GO_ON;
}

/* socket(2) for TCP goes on unchanged, unless the later connect(2) will not be seen (rings) or cannot be
 * cured. */
static enum notice_answer before_socket(int listener, int task, const struct seccomp_notif *call) {
    if ((rings || !may_inspect(task)) && same_place((pid_t)call->pid))
        return make_socket(listener, call);
    return NOTICE_GO_ON;
}

static enum notice_answer ring_made(int task, const struct seccomp_notif *call) {
    rings = true;
    cure_all(task, (pid_t)call->pid);
    return NOTICE_GO_ON;
}

enum notice_answer notice_treat(int listener, const struct seccomp_notif *call) {
    int task = open_task(listener, call);
    enum notice_answer answer = NOTICE_GO_ON;
    if (task < 0)
        return answer;
    switch (call->data.nr) {
    case SYS_connect:
    case SYS_listen: answer = before(task, call); break;
    case SYS_setsockopt: answer = own_nodelay(task, call); break;
    case SYS_socket: answer = before_socket(listener, task, call); break;
    case SYS_io_uring_setup: answer = ring_made(task, call); break;
    default: break;
    }
    close(task);
    return answer;
}
