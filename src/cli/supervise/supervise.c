/* SPDX-License-Identifier: MIT */
#include "supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "apart.h"
#include "filter.h"
#include "guards.h"
#include "worker.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#endif

/* ---- the channel between the program-to-be and its supervisor -------- */

union room {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

/* A message of one byte, with room for a descriptor. */
static struct msghdr message_of(struct iovec *byte, union room *control) {
    return (struct msghdr){.msg_iov = byte,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof(control->room)};
}

static bool send_descriptor(int channel, int fd) {
    char byte = 0;
    union room control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
                                   .cmsg_level = SOL_SOCKET,
                                   .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    struct msghdr message = message_of(&(struct iovec){&byte, 1}, &control);
    return sendmsg(channel, &message, MSG_NOSIGNAL) == 1;
}

static int receive_descriptor(int channel) {
    char byte;
    int fd = -1;
    union room control = {.room = {0}};
    struct msghdr message = message_of(&(struct iovec){&byte, 1}, &control);
    if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) == 1 && message.msg_controllen &&
        control.head.cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
    return fd;
}

/* ---- the supervisor -------------------------------------------------- */

/* True where a filter refuses the call, as containers' do: of itself a process may copy any descriptor. */
static bool is_blind(void) {
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    bool refused = self < 0 || (syscall(SYS_pidfd_getfd, self, -1, 0) < 0 && errno != EBADF);
    if (self >= 0)
        close(self);
    return refused;
}

static _Noreturn void supervise(int channel) {
    pid_t own = getpid();
    if (send(channel, &own, sizeof(own), MSG_NOSIGNAL) != sizeof(own))
        _exit(1);
    int listener = receive_descriptor(channel);
    if (listener < 0)
        _exit(1);
    if (listener <= 2) { /* the caller was started without standard streams */
        listener = fcntl(listener, F_DUPFD_CLOEXEC, 4);
        if (listener < 0)
            _exit(1);
    }
    if (send(channel, &own, sizeof(own), MSG_NOSIGNAL) != sizeof(own))
        _exit(1);
    apart_let_go(listener, is_blind() ? GUARD_BLIND : GUARD_NAME);
    /* the caller sleeps while we answer, so the kernel may wake us on the caller's processor */
    ioctl(APART_KEPT, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    worker_guard(APART_KEPT);
    _exit(0);
}

/* ---- the program-to-be ----------------------------------------------- */

static bool kernel_has_it(void) {
    struct utsname name;
    char *end;
    if (uname(&name) != 0)
        return false;
    long major = strtol(name.release, &end, 10), minor = strtol(end + (*end == '.'), NULL, 10);
    return (major > SUPERVISE_LEAST_MAJOR ||
            (major == SUPERVISE_LEAST_MAJOR && minor >= SUPERVISE_LEAST_MINOR));
}

/* The sockets that the program inherits. */
static void cure_inherited(void) {
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    int on = 1;
    while (folder && (entry = readdir(folder)) != NULL) {
        int fd = (int)strtol(entry->d_name, NULL, 10), protocol = 0;
        socklen_t size = sizeof(protocol);
        if (entry->d_name[0] != '.' &&
            getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
            protocol == IPPROTO_TCP)
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    if (folder)
        closedir(folder);
}

static int install(bool privileges_matter, bool *no_new_privs) {
    int listener = filter_install();
    if (listener != -EACCES || privileges_matter)
        return listener;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -errno;
    *no_new_privs = true;
    return filter_install();
}

static int begin(int channel, bool privileges_matter, bool *no_new_privs) {
    pid_t supervisor = 0;
    if (recv(channel, &supervisor, sizeof(supervisor), 0) != sizeof(supervisor))
        return -ESRCH;
    prctl(PR_SET_PTRACER, supervisor); /* for yama; EINVAL without it */
    cure_inherited();
    int listener = install(privileges_matter, no_new_privs);
    if (listener < 0)
        return listener;
    bool sent = send_descriptor(channel, listener);
    close(listener);
    if (!sent || recv(channel, &supervisor, sizeof(supervisor), 0) != sizeof(supervisor))
        return -ESRCH;
    guards_tell(supervisor);
    return 0;
}

bool supervise_built(void) {
    return true;
}

int supervise_begin(bool privileges_matter, bool *no_new_privs, bool *blind) {
    int ends[2];
    *no_new_privs = false;
    *blind = is_blind();
    if (!kernel_has_it())
        return -ENOSYS;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    fflush(NULL);
    int error = apart_start(supervise, ends[1], ends[0]);
    close(ends[1]);
    if (!error)
        error = begin(ends[0], privileges_matter, no_new_privs);
    close(ends[0]);
    return error;
}
