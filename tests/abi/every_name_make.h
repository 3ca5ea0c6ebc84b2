/* SPDX-License-Identifier: MIT
 *
 * Making one call of the table of every_name.h, in the way that its row names.  Who includes it has show(),
 * hold_a_piece(), show_piece() and, around each call, LEAN() and its like.
 */
static void on_alarm(int number) {
    (void)number;
}

static void every_millisecond(bool on) {
    struct itimerval timer = {{0, on ? 2000 : 0}, {0, on ? 2000 : 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void show_status(const char *name, pid_t child) {
    int status = 0;
    raw_call(SYS_wait4, child, (long)&status, 0, 0, 0);
    show(name, "ended", status, 0);
}

static void jump(const char *name, call_t *call, long given) {
    sigjmp_buf place;
    int arrived = sigsetjmp(place, 1);
    if (arrived == 0) call(given ? given : (long)&place, 7, 0, 0, 0, 0);
    show(name, "jumped with", arrived, 0);
}

static int errno_before;

static void make_with(int at, const long *a) {
    const char *name = calls[at].name;
    call_t *call = (call_t *)dlsym(RTLD_DEFAULT, name);
    pid_t child;
    long result;
    if (call == NULL) {
        show(name, "absent", 0, 0);
        return;
    }
    hold_a_piece();
    errno = errno_before;
    switch (calls[at].how) {
    case PLAIN:
        result = LEAN(call(a[0], a[1], a[2], a[3], a[4], a[5]));
        show(name, "gave", (int)result, errno);
        break;
    case SELF:
        result = LEAN(call((long)pthread_self(), a[1], a[2], a[3], a[4], a[5]));
        show(name, "gave", (int)result, errno);
        break;
    case UNTIL:
        every_millisecond(true);
        result = LEAN(call(a[0], a[1], 0, 0, 0, 0));
        show(name, "gave", (int)result, errno);
        every_millisecond(false);
        break;
    case PENDING:
        kill(getpid(), SIGUSR2); /* not raise(3): a cloned thread is no thread to libc */
        result = LEAN(call(a[0], a[1], 0, 0, 0, 0));
        show(name, "gave", (int)result, errno);
        break;
    case FILE_OF: {
        bool reopens = strstr(name, "reopen") != NULL;
        long given = a[reopens ? 2 : 0];
        FILE *file = given ? (FILE *)given : fopen("/dev/null", "r");
        errno = 0;
        result = LEAN(reopens ? call(a[0], a[1], (long)file, 0, 0, 0) : call((long)file, 0, 0, 0, 0, 0));
        show(name, "gave", (int)result, errno);
        break;
    }
    case PARENT:
        child = (pid_t)LEAN(call(a[0], a[1], a[2], a[3], 0, 0));
        if (child == 0) _exit(4);
        if (child > 0) show_status(name, child);
        else show(name, "failed", child, errno);
        break;
    case LAST:
        lean_last_begins();
        child = fork();
        if (child == 0) {
            lean_last(name, call, a);
            raw_call(SYS_exit_group, 9, 0, 0, 0, 0);
        }
        show_status(name, child);
        lean_last_ended();
        break;
    case POPEN: {
        FILE *file = (FILE *)LEAN(call(a[0], a[1], 0, 0, 0, 0));
        show(name, "gave a file", file != NULL, errno);
        if (file) show(name, "closed", pclose(file), errno);
        break;
    }
    case JUMP:
        jump(name, call, a[0]);
        break;
    case STARTS:
        result = LEAN(call(a[0], a[1], a[2], a[3], 0, 0));
        show(name, "gave", (int)result, errno);
        if (result == 0) show(name, "joined", pthread_join(started, NULL), 0);
        break;
    case PCLOSE: {
        FILE *file = a[0] ? (FILE *)a[0] : popen("exit 5", "r");
        errno = 0;
        result = LEAN(call((long)file, 0, 0, 0, 0, 0));
        show(name, "gave", result, errno);
        break;
    }
    }
    show_piece(name);
}

static void make(int at) {
    make_with(at, calls[at].arguments);
}

/* Rows whose first argument may as well be a connection's descriptor: none gives a pointer or a right. */
static UNUSED bool may_have_connection(int at) {
    static const char *const more[] = {
        "dprintf", "vdprintf", "__dprintf_chk", "__vdprintf_chk", "connect", "accept", "setsockopt",
        "getsockopt", "shutdown", "close", "dup", "dup2", "dup3", "fcntl", "syscall",
    };
    if (calls[at].how != PLAIN || calls[at].arguments[0] != BAD) return false;
    if (strcmp(calls[at].name, "eventfd_write") == 0) return true;
    for (int i = 0; i <= at; i++)
        if (strcmp(calls[i].name, "poll") == 0) goto behind;
    return true;
behind:
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (strcmp(calls[at].name, more[i]) == 0) return true;
    return false;
}

static void prepare(void) {
    struct sigaction action = {.sa_handler = on_alarm};
    sigemptyset(&no_signals);
    sigemptyset(&alarm_signal);
    sigaddset(&alarm_signal, SIGUSR2);
    sigaction(SIGALRM, &action, NULL);
    sem_init(&many, 0, 1000);
    checked = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    raw_call(SYS_capget, (long)&capability_header, (long)capabilities, 0, 0, 0);
    nowhere.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

/* Others than the calling thread take no signal that a call waits for. */
static UNUSED void leave_signals(void) {
    sigset_t waited_for;
    sigemptyset(&waited_for);
    sigaddset(&waited_for, SIGALRM);
    sigaddset(&waited_for, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &waited_for, NULL);
}

static UNUSED void take_signals(void) {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
}

