/* SPDX-License-Identifier: MIT */
#include "supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guards.h"
#include "worker.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#endif

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

/* ---- the filter: it stops the calls that the supervisor answers ------ */

enum { SOCK_TYPE_MASK = 0xf };

/* The argument is an int: the upper half of its register may be anything. */
#define IS_INT(number, value) SCMP_CMP64(number, SCMP_CMP_MASKED_EQ, 0xffffffff, value)

static int add_rules(scmp_filter_ctx filter) {
    static const int always[] = {SCMP_SYS(connect), SCMP_SYS(listen), SCMP_SYS(io_uring_setup)};
    static const unsigned families[] = {AF_INET, AF_INET6};
    int error = 0;
    for (unsigned i = 0; !error && i < sizeof(always) / sizeof(always[0]); i++)
        error = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, always[i], 0);
    for (unsigned i = 0; !error && i < sizeof(families) / sizeof(families[0]); i++)
        error =
            seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(socket), 2, IS_INT(0, families[i]),
                             SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, SOCK_TYPE_MASK, SOCK_STREAM));
    if (!error)
        error = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(setsockopt), 2,
                                 IS_INT(1, IPPROTO_TCP), IS_INT(2, TCP_NODELAY));
    return error;
}

/* Calls of another architecture (32-bit x86, x32) are allowed as they are. */
static int write_program(int file) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return -ENOMEM;
    int error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);
    if (!error)
        error = add_rules(filter);
    if (!error)
        error = seccomp_export_bpf(filter, file);
    seccomp_release(filter);
    return error;
}

/* With WAIT_KILLABLE_RECV a signal does not interrupt a call that the supervisor is about to answer.
 * seccomp_load(3) of libseccomp 2.5 lacks this flag, so the filter is loaded without it. */
static int load(const struct sock_fprog *program) {
    unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                            flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, program);
    if (listener < 0 && errno == EINVAL)
        listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    return listener < 0 ? -errno : (int)listener;
}

/* Installs the filter for this process.  Returns its listener (close-on-exec), or -errno.  -EACCES: without
 * CAP_SYS_ADMIN this needs no_new_privs. */
static int filter_install(void) {
    struct sock_filter code[256];
    int file = memfd_create("unstall-filter", MFD_CLOEXEC);
    if (file < 0)
        return -errno;
    int result = write_program(file);
    ssize_t size = result ? 0 : pread(file, code, sizeof(code), 0);
    close(file);
    if (result)
        return result;
    if (size <= 0 || size == sizeof(code) || size % (ssize_t)sizeof(code[0]))
        return -E2BIG;
    struct sock_fprog program = {(unsigned short)((size_t)size / sizeof(code[0])), code};
    return load(&program);
}

/* ---- a process apart ------------------------------------------------- */

/* It works for the program unseen by it: it is no child of the program, has a session of its own, and keeps
 * none of the program's files open. */

enum { APART_KEPT = 3 }; /* the only descriptor that is kept, above the three of /dev/null */

/* Runs work(channel) in a process apart, which closes `other_end`, with all signals blocked.  0 or -errno.
 *
 * Forks twice; the process in between ends at once, so that init becomes the parent.  The SIGCHLD of that
 * process is consumed here, because the program must not see the end of a child that it did not make. */
static int apart_start(void (*work)(int), int channel, int other_end) {
    pid_t between = fork();
    if (between < 0)
        return -errno;
    if (between == 0) {
        close(other_end);
        pid_t apart = fork();
        if (apart == 0) {
            sigset_t all;
            sigfillset(&all); /* a stop of the whole unit must not leave half of its work undone */
            sigprocmask(SIG_BLOCK, &all, NULL);
            setsid();
            work(channel);
        }
        _exit(apart < 0 ? errno : 0);
    }
    int status = 0;
    while (waitpid(between, &status, 0) < 0 && errno == EINTR)
        ;
    sigset_t child;
    struct timespec now = {0};
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &now);
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

/* Called in that process: closes all descriptors but `keep` (above 2), which becomes APART_KEPT, and
 * leaves the terminal and the folder. */
static void apart_let_go(int keep, const char *name) {
    signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would hide how a child ended */
    if (chdir("/") != 0)
        _exit(1);
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; nothing >= 0 && fd < APART_KEPT; fd++)
        dup2(nothing, fd);
    dup2(keep, APART_KEPT);
    syscall(SYS_close_range, APART_KEPT + 1U, ~0U, 0);
    prctl(PR_SET_NAME, name);
}

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
