/* SPDX-License-Identifier: MIT
 *
 * The table of every_name.c: a row for each name of the surface, with arguments that harm nobody.
 */
typedef long call_t(long, long, long, long, long, long);

static struct timespec no_time, moment = {.tv_nsec = 1000000};
static struct timeval moment_of_select = {.tv_usec = 1000}; /* it leaves what is left of it */
#if __SIZEOF_LONG__ == 4
/* Seconds, and the rest. */
static int64_t no_time_64[2], moment_64[2] = {0, 1000000}, moment_of_select_64[2] = {0, 1000};
#endif
static char buffer[64] = "text", path_from[] = "/does/not/exist/a";
static struct iovec piece = {buffer, 4};
static struct msghdr header = {.msg_iov = &piece, .msg_iovlen = 1};
static struct mmsghdr headers = {.msg_hdr = {.msg_iov = &piece, .msg_iovlen = 1}};
static struct sockaddr_in nowhere = {.sin_family = AF_INET};
static socklen_t length = sizeof(int);
static sigset_t no_signals, alarm_signal;
static sem_t many;
static pthread_cond_t spurious;
static pthread_mutex_t checked; /* of the kind that refuses to be left by one who has not locked it: EPERM */
static siginfo_t info;
static char *const true_words[] = {"/bin/true", NULL};
static uint64_t eight;
static struct aiocb refused = {.aio_fildes = -1, .aio_reqprio = -1}; /* EINVAL: nothing is queued */
static const struct aiocb *no_requests[1];
static struct pollfd no_descriptor = {.fd = -1};
static fd_set none;
static struct __user_cap_header_struct capability_header = {.version = _LINUX_CAPABILITY_VERSION_3};
static struct __user_cap_data_struct capabilities[2]; /* those of now (prepare) */

/* What a thread runs: zero is the end of either kind, a pointer's or an int's. */
static pthread_t started;

static void *start(void *unused) {
    (void)unused;
    return NULL;
}

#define BAD (-1L)
#define P(pointer) ((long)(pointer))
#define F(function) ((long)(function)) /* no pointer that the call itself follows */

/* How a call is made. */
enum how {
    PLAIN,    /* called, result and errno shown */
    UNTIL,    /* waits for a signal: a timer sends one */
    PENDING,  /* takes a blocked signal: one is pending */
    SELF,     /* its first argument is this thread (pthread_t) */
    FILE_OF,  /* takes an open FILE, where the table gives NULL for it */
    PARENT,   /* forks: the child ends at once, the parent shows */
    LAST,     /* ends the process: made in a child, whose status is shown */
    POPEN,
    PCLOSE,   /* takes a stream of popen, where the table gives NULL */
    STARTS,   /* starts a thread, which is joined */
    JUMP,     /* does not return, but jumps: to here, where the table gives NULL */
};

/* `pointers` has a p at the place of each argument that is a pointer, also where the table gives NULL. */
static const struct {
    const char *name;
    enum how how;
    const char *pointers;
    long arguments[6];
} calls[] = {
    {"write", PLAIN, ".p", {BAD, P(buffer), 4}},
    {"__write", PLAIN, ".p", {BAD, P(buffer), 4}},
    {"writev", PLAIN, ".p", {BAD, P(&piece), 1}},
    {"send", PLAIN, ".p", {BAD, P(buffer), 4, 0}},
    {"__send", PLAIN, ".p", {BAD, P(buffer), 4, 0}},
    {"sendto", PLAIN, ".p..p", {BAD, P(buffer), 4, 0, 0, 0}},
    {"sendmsg", PLAIN, ".p", {BAD, P(&header), 0}},
    {"sendmmsg", PLAIN, ".p", {BAD, P(&headers), 1, 0}},
    {"__sendmmsg", PLAIN, ".p", {BAD, P(&headers), 1, 0}},
    {"sendfile", PLAIN, "..p", {BAD, BAD, 0, 4}},
    {"sendfile64", PLAIN, "..p", {BAD, BAD, 0, 4}},
    {"splice", PLAIN, ".p.p", {BAD, 0, BAD, 0, 4, 0}},
    {"pwritev2", PLAIN, ".p", {BAD, P(&piece), 1, -1, 0}},
    {"pwritev64v2", PLAIN, ".p", {BAD, P(&piece), 1, -1, 0}},
    {"eventfd_write", PLAIN, "", {BAD, 1}},
    {"read", PLAIN, ".p", {BAD, P(buffer), 4}},
    {"__read", PLAIN, ".p", {BAD, P(buffer), 4}},
    {"__read_chk", PLAIN, ".p", {BAD, P(buffer), 4, sizeof buffer}},
    {"readv", PLAIN, ".p", {BAD, P(&piece), 1}},
    {"preadv2", PLAIN, ".p", {BAD, P(&piece), 1, -1, 0}},
    {"preadv64v2", PLAIN, ".p", {BAD, P(&piece), 1, -1, 0}},
    {"recv", PLAIN, ".p", {BAD, P(buffer), 4, 0}},
    {"__recv", PLAIN, ".p", {BAD, P(buffer), 4, 0}},
    {"__recv_chk", PLAIN, ".p", {BAD, P(buffer), 4, sizeof buffer, 0}},
    {"recvfrom", PLAIN, ".p..pp", {BAD, P(buffer), 4, 0, 0, 0}},
    {"__recvfrom_chk", PLAIN, ".p...p", {BAD, P(buffer), 4, sizeof buffer, 0, 0}},
    {"recvmsg", PLAIN, ".p", {BAD, P(&header), 0}},
    {"recvmmsg", PLAIN, ".p..p", {BAD, P(&headers), 1, 0, 0}},
    {"eventfd_read", PLAIN, ".p", {BAD, P(&eight)}},
    {"poll", PLAIN, "p", {P(&no_descriptor), 1, 1}},
    {"__poll", PLAIN, "p", {P(&no_descriptor), 1, 1}},
    {"__poll_chk", PLAIN, "p", {P(&no_descriptor), 1, 1, sizeof no_descriptor}},
    {"ppoll", PLAIN, "p.pp", {P(&no_descriptor), 1, P(&moment), 0}},
    {"__ppoll_chk", PLAIN, "p.pp", {P(&no_descriptor), 1, P(&moment), 0, sizeof no_descriptor}},
    {"select", PLAIN, ".pppp", {1, 0, P(&none), 0, P(&moment_of_select)}},
    {"__select", PLAIN, ".pppp", {1, 0, P(&none), 0, P(&moment_of_select)}},
    {"pselect", PLAIN, ".ppppp", {1, 0, P(&none), 0, P(&moment), 0}},
    {"epoll_wait", PLAIN, ".p", {BAD, P(buffer), 1, 1}},
    {"epoll_pwait", PLAIN, ".p..p", {BAD, P(buffer), 1, 1, 0}},
    {"epoll_pwait2", PLAIN, ".p.pp", {BAD, P(buffer), 1, P(&no_time), 0}},
    {"sleep", PLAIN, "", {0}},
    {"usleep", PLAIN, "", {1}},
    {"nanosleep", PLAIN, "pp", {P(&no_time), 0}},
    {"__nanosleep", PLAIN, "pp", {P(&no_time), 0}},
    {"clock_nanosleep", PLAIN, "..pp", {CLOCK_MONOTONIC, 0, P(&no_time), 0}},
    {"thrd_sleep", PLAIN, "pp", {P(&no_time), 0}},
    {"sem_wait", PLAIN, "p", {P(&many)}},
    {"sem_timedwait", PLAIN, "pp", {P(&many), P(&no_time)}},
    {"sem_clockwait", PLAIN, "p.p", {P(&many), CLOCK_MONOTONIC, P(&no_time)}},
    {"pthread_cond_wait", PLAIN, "pp", {P(&spurious), P(&checked)}},
    {"pthread_cond_timedwait", PLAIN, "ppp", {P(&spurious), P(&checked), P(&no_time)}},
    {"pthread_cond_clockwait", PLAIN, "pp.p", {P(&spurious), P(&checked), CLOCK_MONOTONIC, P(&no_time)}},
    {"cnd_wait", PLAIN, "pp", {P(&spurious), P(&checked)}},
    {"cnd_timedwait", PLAIN, "ppp", {P(&spurious), P(&checked), P(&no_time)}},
    {"pthread_join", SELF, ".p", {0, 0}},
    {"pthread_timedjoin_np", SELF, ".pp", {0, 0, P(&no_time)}},
    {"pthread_clockjoin_np", SELF, ".p.p", {0, 0, CLOCK_MONOTONIC, P(&no_time)}},
    {"thrd_join", SELF, ".p", {0, 0}},
    {"wait", PLAIN, "p", {0}},
    {"__wait", PLAIN, "p", {0}},
    {"wait3", PLAIN, "p.p", {0, 0, 0}},
    {"wait4", PLAIN, ".p.p", {BAD, 0, 0, 0}},
    {"waitpid", PLAIN, ".p", {BAD, 0, 0}},
    {"__waitpid", PLAIN, ".p", {BAD, 0, 0}},
    {"waitid", PLAIN, "..p", {P_ALL, 0, P(&info), WEXITED}},
    {"sigwait", PENDING, "pp", {P(&alarm_signal), P(buffer)}},
    {"sigwaitinfo", PENDING, "pp", {P(&alarm_signal), 0}},
    {"sigtimedwait", PLAIN, "ppp", {P(&no_signals), 0, P(&no_time)}},
    {"sigsuspend", UNTIL, "p", {P(&no_signals)}},
    {"__sigsuspend", UNTIL, "p", {P(&no_signals)}},
    {"sigpause", UNTIL, "", {0}},
    {"__sigpause", UNTIL, "", {0, 0}},
    {"__xpg_sigpause", UNTIL, "", {SIGUSR2}},
    {"pause", UNTIL, "", {0}},
    {"flock", PLAIN, "", {BAD, 1}},
    {"lockf", PLAIN, "", {BAD, F_TEST, 0}},
    {"lockf64", PLAIN, "", {BAD, F_TEST, 0}},
    {"msgsnd", PLAIN, ".p", {BAD, P(buffer), 4, 0}},
    {"msgrcv", PLAIN, ".p", {BAD, P(buffer), 4, 0, 0}},
    {"semop", PLAIN, ".p", {BAD, P(buffer), 1}},
    {"semtimedop", PLAIN, ".p.p", {BAD, P(buffer), 1, P(&no_time)}},
    {"mq_send", PLAIN, ".p", {BAD, P(buffer), 4, 0}},
    {"mq_receive", PLAIN, ".p.p", {BAD, P(buffer), sizeof buffer, 0}},
    {"mq_timedsend", PLAIN, ".p..p", {BAD, P(buffer), 4, 0, P(&no_time)}},
    {"aio_read", PLAIN, "p", {P(&refused)}},
    {"aio_read64", PLAIN, "p", {P(&refused)}},
    {"aio_write", PLAIN, "p", {P(&refused)}},
    {"aio_write64", PLAIN, "p", {P(&refused)}},
    {"lio_listio", PLAIN, ".p.p", {BAD, P(&no_requests), 0, 0}},
    {"lio_listio64", PLAIN, ".p.p", {BAD, P(&no_requests), 0, 0}},
    {"aio_suspend", PLAIN, "p.p", {P(&no_requests), 0, P(&no_time)}},
    {"aio_suspend64", PLAIN, "p.p", {P(&no_requests), 0, P(&no_time)}},
    {"mq_timedreceive", PLAIN, ".p.pp", {BAD, P(buffer), sizeof buffer, 0, P(&no_time)}},
#if __SIZEOF_LONG__ == 4 /* names of programs with 64-bit times (ROW32); the waits before there is a child */
    {"__sendmsg64", PLAIN, ".p", {BAD, P(&header), 0}},
    {"__sendmmsg64", PLAIN, ".p", {BAD, P(&headers), 1, 0}},
    {"__recvmsg64", PLAIN, ".p", {BAD, P(&header), 0}},
    {"__recvmmsg64", PLAIN, ".p..p", {BAD, P(&headers), 1, 0, 0}},
    {"__ppoll64", PLAIN, "p.pp", {P(&no_descriptor), 1, P(&moment_64), 0}},
    {"__select64", PLAIN, ".pppp", {1, 0, P(&none), 0, P(&moment_of_select_64)}},
    {"__pselect64", PLAIN, ".ppppp", {1, 0, P(&none), 0, P(&moment_64), 0}},
    {"__epoll_pwait2_time64", PLAIN, ".p.pp", {BAD, P(buffer), 1, P(&no_time_64), 0}},
    {"__nanosleep64", PLAIN, "pp", {P(&no_time_64), 0}},
    {"__clock_nanosleep_time64", PLAIN, "..pp", {CLOCK_MONOTONIC, 0, P(&no_time_64), 0}},
    {"__thrd_sleep64", PLAIN, "pp", {P(&no_time_64), 0}},
    {"__sem_timedwait64", PLAIN, "pp", {P(&many), P(&no_time_64)}},
    {"__sem_clockwait64", PLAIN, "p.p", {P(&many), CLOCK_MONOTONIC, P(&no_time_64)}},
    {"__pthread_cond_timedwait64", PLAIN, "ppp", {P(&spurious), P(&checked), P(&no_time_64)}},
    {"__pthread_cond_clockwait64", PLAIN, "pp.p",
     {P(&spurious), P(&checked), CLOCK_MONOTONIC, P(&no_time_64)}},
    {"__cnd_timedwait64", PLAIN, "ppp", {P(&spurious), P(&checked), P(&no_time_64)}},
    {"__pthread_timedjoin_np64", SELF, ".pp", {0, 0, P(&no_time_64)}},
    {"__pthread_clockjoin_np64", SELF, ".p.p", {0, 0, CLOCK_MONOTONIC, P(&no_time_64)}},
    {"__wait3_time64", PLAIN, "p.p", {0, 0, 0}},
    {"__wait4_time64", PLAIN, ".p.p", {BAD, 0, 0, 0}},
    {"__sigtimedwait64", PLAIN, "ppp", {P(&no_signals), 0, P(&no_time_64)}},
    {"__semtimedop64", PLAIN, ".p.p", {BAD, P(buffer), 1, P(&no_time_64)}},
    {"__mq_timedsend_time64", PLAIN, ".p..p", {BAD, P(buffer), 4, 0, P(&no_time_64)}},
    {"__mq_timedreceive_time64", PLAIN, ".p.pp", {BAD, P(buffer), sizeof buffer, 0, P(&no_time_64)}},
    {"__aio_suspend_time64", PLAIN, "p.p", {P(&no_requests), 0, P(&no_time_64)}},
    {"__getsockopt64", PLAIN, "...pp", {BAD, IPPROTO_TCP, TCP_NODELAY, P(buffer), P(&length)}},
    {"__setsockopt64", PLAIN, "...p", {BAD, IPPROTO_TCP, TCP_NODELAY, P(&length), sizeof(int)}},
    {"__fcntl_time64", PLAIN, "", {BAD, F_GETFL, 0}},
    {"__prctl_time64", PLAIN, "", {BAD, 0, 0, 0, 0}},
#endif
    {"socket", PLAIN, "", {BAD, SOCK_STREAM, 0}},
    {"connect", PLAIN, ".p", {BAD, P(&nowhere), sizeof nowhere}},
    {"__connect", PLAIN, ".p", {BAD, P(&nowhere), sizeof nowhere}},
    {"accept", PLAIN, ".pp", {BAD, 0, 0}},
    {"accept4", PLAIN, ".pp", {BAD, 0, 0, 0}},
    {"listen", PLAIN, "", {BAD, 1}},
    {"setsockopt", PLAIN, "...p", {BAD, IPPROTO_TCP, TCP_NODELAY, P(&length), sizeof(int)}},
    {"getsockopt", PLAIN, "...pp", {BAD, IPPROTO_TCP, TCP_NODELAY, P(buffer), P(&length)}},
    {"shutdown", PLAIN, "", {BAD, SHUT_WR}},
    {"close", PLAIN, "", {BAD}},
    {"__close", PLAIN, "", {BAD}},
    {"close_range", PLAIN, "", {900000, 900001, 0}},
    {"closefrom", PLAIN, "", {900000}},
    {"dup", PLAIN, "", {BAD}},
    {"dup2", PLAIN, "", {BAD, 900}},
    {"__dup2", PLAIN, "", {BAD, 900}},
    {"dup3", PLAIN, "", {BAD, 900, O_CLOEXEC}},
    {"fcntl", PLAIN, "", {BAD, F_GETFD, 0}},
    {"fcntl64", PLAIN, "", {BAD, F_DUPFD, 0}},
    {"__fcntl", PLAIN, "", {BAD, F_GETFL, 0}},
    {"syscall", PLAIN, "", {SYS_close, BAD}},
    {"fdopen", PLAIN, ".p", {BAD, P("r")}},
    {"_IO_fdopen", PLAIN, ".p", {BAD, P("r")}},
    {"fclose", FILE_OF, "p", {0}},
    {"_IO_fclose", FILE_OF, "p", {0}},
    {"freopen", FILE_OF, "ppp", {P("/does/not/exist/c"), P("r"), 0}},
    {"freopen64", FILE_OF, "ppp", {P("/does/not/exist/c"), P("r"), 0}},
    {"dprintf", PLAIN, ".p", {BAD, P("text %ld"), 5}},
    {"vdprintf", PLAIN, ".pp", {BAD, P("text"), P(buffer)}},
    {"__dprintf_chk", PLAIN, "..p", {BAD, 1, P("text %ld"), 5}},
    {"__vdprintf_chk", PLAIN, "..pp", {BAD, 1, P("text"), P(buffer)}},
    {"fork", PARENT, "", {0}},
    {"__fork", PARENT, "", {0}},
    {"__libc_fork", PARENT, "", {0}},
    {"_Fork", PARENT, "", {0}},
    {"vfork", PARENT, "", {0}},
    {"__vfork", PARENT, "", {0}},
    {"clone", PLAIN, "pp.p", {0, 0, 0, 0}},
    {"__clone", PLAIN, "pp.p", {0, 0, 0, 0}},
    {"daemon", LAST, "", {1, 1}},
    {"forkpty", PARENT, "pppp", {P(buffer), 0, 0, 0}},
    {"execve", PLAIN, "ppp", {P(path_from), P(true_words), P(true_words + 1)}},
    {"execv", PLAIN, "pp", {P(path_from), P(true_words)}},
    {"execvp", PLAIN, "pp", {P(path_from), P(true_words)}},
    {"execvpe", PLAIN, "ppp", {P(path_from), P(true_words), P(true_words + 1)}},
    {"execl", PLAIN, "pp", {P(path_from), P("a"), 0}},
    {"execle", PLAIN, "pp.p", {P(path_from), P("a"), 0, P(true_words + 1)}},
    {"execlp", PLAIN, "pp", {P(path_from), P("a"), 0}},
    {"fexecve", PLAIN, ".pp", {BAD, P(true_words), P(true_words + 1)}},
    {"execveat", PLAIN, ".ppp", {BAD, P("a"), P(true_words), P(true_words + 1), 0}},
    {"posix_spawn", PLAIN, "pppppp", {P(buffer), P(path_from), 0, 0, P(true_words), P(true_words + 1)}},
    {"posix_spawnp", PLAIN, "pppppp", {P(buffer), P(path_from), 0, 0, P(true_words), P(true_words + 1)}},
    {"pidfd_spawn", PLAIN, "pppppp", {P(buffer), P(path_from), 0, 0, P(true_words), P(true_words + 1)}},
    {"pidfd_spawnp", PLAIN, "pppppp", {P(buffer), P(path_from), 0, 0, P(true_words), P(true_words + 1)}},
    {"posix_spawn_file_actions_adddup2", PLAIN, "p", {P(buffer), -1, 1}},
    {"system", PLAIN, "p", {P("exit 5")}},
    {"popen", POPEN, "pp", {P("exit 5"), P("r")}},
    {"_IO_popen", POPEN, "pp", {P("exit 5"), P("r")}},
    {"pclose", PCLOSE, "p", {0}},
    {"wordexp", PLAIN, "pp", {P("|"), P(buffer), 0}},
    {"exit", LAST, "", {6}},
    {"_exit", LAST, "", {6}},
    {"_Exit", LAST, "", {6}},
    {"quick_exit", LAST, "", {6}},
    {"abort", LAST, "", {0}},
    {"pthread_create", STARTS, "pp.p", {P(&started), 0, F(start), 0}},
    {"thrd_create", STARTS, "p.p", {P(&started), F(start), 0}},
    {"pthread_exit", LAST, "", {0}},
    {"thrd_exit", LAST, "", {0}},
    {"longjmp", JUMP, "p", {0}},
    {"_longjmp", JUMP, "p", {0}},
    {"siglongjmp", JUMP, "p", {0}},
    {"__longjmp_chk", JUMP, "p", {0}},
    {"unshare", PLAIN, "", {0}},
    {"setns", PLAIN, "", {BAD, 0}},
    {"setuid", PLAIN, "", {BAD}},
    {"seteuid", PLAIN, "", {BAD}},
    {"setreuid", PLAIN, "", {BAD, BAD}},
    {"setresuid", PLAIN, "", {BAD, BAD, BAD}},
    {"setgid", PLAIN, "", {BAD}},
    {"setegid", PLAIN, "", {BAD}},
    {"setregid", PLAIN, "", {BAD, BAD}},
    {"setresgid", PLAIN, "", {BAD, BAD, BAD}},
    {"setgroups", PLAIN, ".p", {BAD, 0}},
    {"initgroups", PLAIN, "p", {P("nobody"), BAD}},
    {"setfsuid", PLAIN, "", {BAD}},
    {"setfsgid", PLAIN, "", {BAD}},
    {"capset", PLAIN, "pp", {P(&capability_header), P(capabilities)}},
    {"personality", PLAIN, "", {0xffffffff}},
    {"prctl", PLAIN, "", {BAD, 0, 0, 0, 0}},
    {"kill", PLAIN, "", {0, 0}},
    {"killpg", PLAIN, "", {BAD, 0}},
    {"raise", PLAIN, "", {0}},
    {"gsignal", PLAIN, "", {0}},
    {"sigqueue", PLAIN, "", {BAD, 0, 0}},
    {"tgkill", PLAIN, "", {BAD, BAD, 0}},
    {"pthread_kill", SELF, "", {0, 0}},
    {"pthread_sigqueue", SELF, "", {0, 0, 0}},
    {"pidfd_send_signal", PLAIN, "..p", {BAD, 0, P(&info), 0}},
};

enum { CALLS = sizeof calls / sizeof *calls };
