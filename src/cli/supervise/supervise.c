/* SPDX-License-Identifier: MIT */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "guards.h"
#include "process_stat.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#endif

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1) /* Linux 5.14 */
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
    CLOSED_FD file = memfd_create("unstall-filter", MFD_CLOEXEC);
    if (file < 0)
        return -errno;
    int result = write_program(file);
    ssize_t size = result ? 0 : pread(file, code, sizeof(code), 0);
    if (result)
        return result;
    if (size <= 0 || size == sizeof(code) || size % (ssize_t)sizeof(code[0]))
        return -E2BIG;
    struct sock_fprog program = {(unsigned short)((size_t)size / sizeof(code[0])), code};
    return load(&program);
}

/* ---- a call that waits ------------------------------------------------- */

/* The work on one waiting call, and its answer. */
enum notice_answer {
    NOTICE_GO_ON,    /* the kernel makes the call */
    NOTICE_DONE,     /* the call returns 0 and is not made */
    NOTICE_ANSWERED, /* the call has its answer already */
};

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
    CLOSED_FILE *maps = process_open(task, "maps");
    while (maps && !(loaded && inside) && fgets(line, sizeof(line), maps)) {
        char *end;
        const char *name = strrchr(line, '/');
        if (!name)
            continue;
        uint64_t from = strtoull(line, &end, 16), to = strtoull(end + (*end == '-'), NULL, 16);
        bool ours = begins(++name, "libunstall.so");
        loaded |= ours;
        inside |= (ours || is_libc(name)) && address >= from && address < to;
    }
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
    char theirs[PROCESS_PATH], ours[PROCESS_PATH];
    return files_are(process_path(task, name, theirs), process_path(getpid(), name, ours)) == FILES_ARE_ONE;
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
    return same_namespace(task, "ns/net") && same_namespace(task, "ns/user") && same_user(task) &&
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
    CLOSED_FD copy = (int)syscall(SYS_pidfd_getfd, task, fd, 0);
    return copy < 0 ? -errno : set_nodelay(copy) ? 0 : -ENOPROTOOPT;
}

static bool may_inspect(int task) {
    return cure(task, -1) == -EBADF;
}

/* Each TCP socket of the task: a ring may connect and write it without a call that we see. */
static void cure_all(int task, pid_t id) {
    CLOSED_FOLDER *folder = process_folder(id, "fd");
    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.' && cure(task, (int)strtol(entry->d_name, NULL, 10)) == -EPERM)
            break;
}

/* ---- socket(2) ------------------------------------------------------- */

/* Makes the socket for the task.  If anything fails, the kernel makes the task's own call. */
static enum notice_answer make_socket(int listener, const struct seccomp_notif *call) {
    int type = (int)call->data.args[1];
    CLOSED_FD fd = socket((int)call->data.args[0], type | SOCK_CLOEXEC, (int)call->data.args[2]);
    if (fd < 0)
        return NOTICE_GO_ON;
    struct seccomp_notif_addfd given = {
        .id = call->id,
        .flags = SECCOMP_ADDFD_FLAG_SEND,
        .srcfd = (uint32_t)fd,
        .newfd_flags = type & SOCK_CLOEXEC ? O_CLOEXEC : 0,
    };
    bool sent = set_nodelay(fd) && ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given) >= 0;
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

static enum notice_answer treat(int listener, const struct seccomp_notif *call) {
    CLOSED_FD task = open_task(listener, call);
    if (task < 0)
        return NOTICE_GO_ON;
    switch (call->data.nr) {
    case SYS_connect:
    case SYS_listen: return before(task, call);
    case SYS_setsockopt: return own_nodelay(task, call);
    case SYS_socket: return before_socket(listener, task, call);
    case SYS_io_uring_setup: return ring_made(task, call);
    default: return NOTICE_GO_ON;
    }
}

/* ---- guard and worker ------------------------------------------------ */

/* Both hold the listener, because filtered calls fail with ENOSYS once no process holds it.  The call that
 * the worker treats is in memory that both share: the kernel writes it there in the ioctl that takes it.
 * If the worker is killed, the guard lets that call go on and starts another worker.  If the guard is
 * killed, the worker becomes the guard.  After WORKERS_MOST workers the guard itself lets all calls go on
 * as they are, so that a fault of ours costs the cure and not the program. */

enum { WORKERS_MOST = 16 };

enum outcome { OVER, ALONE };

enum { CALL_ROOM = 4096 }; /* a later kernel's struct seccomp_notif may be larger than ours */

/* Shared by guard and worker.  Its id is 0 when no call is being treated. */
static struct seccomp_notif *call;

static void answer(int listener, uint64_t id, bool go_on) {
    char room[CALL_ROOM] = {0};
    struct seccomp_notif_resp *response = (struct seccomp_notif_resp *)room;
    response->id = id;
    response->flags = go_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, response); /* ENOENT: the task was killed meanwhile */
}

/* Takes one call and answers it. */
static void take(int listener, bool passes) {
    memset(call, 0, CALL_ROOM);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, call) != 0)
        return;
    enum notice_answer result = passes ? NOTICE_GO_ON : treat(listener, call);
    if (result != NOTICE_ANSWERED)
        answer(listener, call->id, result == NOTICE_GO_ON);
    call->id = 0;
}

/* Answers calls until the last process with the filter has ended, or the guard has. */
static enum outcome work(int listener, int guard, bool passes) {
    struct pollfd both[] = {{listener, POLLIN, 0}, {guard, POLLIN, 0}};
    for (;;) {
        if (poll(both, 2, -1) < 0 && errno != EINTR)
            return OVER;
        if (both[0].revents & POLLIN)
            take(listener, passes);
        else if (both[0].revents)
            return OVER;
        if (both[1].revents)
            return ALONE;
    }
}

/* Waits for the worker.  True if it has ended by itself: there is nothing left to do. */
static bool wait_for(pid_t worker) {
    int status = 0;
    while (waitpid(worker, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Ends with the last process that has the filter. */
static void guard(int listener) {
    call = mmap(NULL, CALL_ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (call == MAP_FAILED)
        return;
    for (int started = 0; started < WORKERS_MOST; started++) {
        int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
        pid_t worker = fork();
        if (worker < 0) { /* a limit on processes: this process works without a guard */
            work(listener, -1, false);
            return;
        }
        if (worker == 0) {
            if (work(listener, self, false) == OVER)
                _exit(0);
            close(self); /* from here on this process is the guard */
            continue;
        }
        close(self);
        if (wait_for(worker))
            return;
        if (call->id)
            answer(listener, call->id, true);
    }
    work(listener, -1, true);
}

/* ---- a process apart ------------------------------------------------- */

/* It works for the program unseen by it: it is no child of the program, has a session of its own, and keeps
 * none of the program's files open. */

enum { APART_KEPT = 3 }; /* the only descriptor that is kept, above the three of /dev/null */

/* Runs body(channel) in a process apart, which closes `other_end`, with all signals blocked.  0 or -errno.
 *
 * Forks twice; the process in between ends at once, so that init becomes the parent.  The SIGCHLD of that
 * process is consumed here, because the program must not see the end of a child that it did not make. */
static int apart_start(void (*body)(int), int channel, int other_end) {
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
            body(channel);
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
    CLOSED_FD self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    return self < 0 || (syscall(SYS_pidfd_getfd, self, -1, 0) < 0 && errno != EBADF);
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
    guard(APART_KEPT);
    _exit(0);
}

/* ---- the program-to-be ----------------------------------------------- */

/* The sockets that the program inherits. */
static void cure_inherited(void) {
    CLOSED_FOLDER *folder = opendir("/proc/self/fd");
    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            set_nodelay((int)strtol(entry->d_name, NULL, 10));
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

int supervise_begin(bool privileges_matter, bool *no_new_privs, bool *blind) {
    int ends[2];
    *no_new_privs = false;
    *blind = is_blind();
    if (kernel_version() < SUPERVISE_LEAST_MAJOR * 100 + SUPERVISE_LEAST_MINOR)
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
