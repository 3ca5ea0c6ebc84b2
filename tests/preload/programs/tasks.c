/* SPDX-License-Identifier: MIT
 *
 * Several threads, several processes, handlers.
 */
#include <semaphore.h>
#include <spawn.h>
#include <sys/time.h>

#ifndef PROGRAM
#define PROGRAM two_writers
#endif
#include "session.h"

/* One thread writes the header, another the body, the first one reads. */
static sem_t begin, done;
static int connection;

static void *write_bodies(void *unused) {
    for (;;) {
        while (sem_wait(&begin) != 0) continue;
        if (connection < 0) return unused;
        CHECK(write(connection, message + HEADER, BODY) == BODY);
        sem_post(&done);
    }
}

static void exchange(int fd) {
    CHECK(write(fd, message, HEADER) == HEADER);
    sem_post(&begin);
    while (sem_wait(&done) != 0) continue;
    read_reply(fd);
}

static void two_writers(void) {
    pthread_t thread;
    connection = connect_to(client);
    sem_init(&begin, 0, 0);
    sem_init(&done, 0, 0);
    CHECK(pthread_create(&thread, NULL, write_bodies, NULL) == 0);
    run_exchanges(connection, client.count, exchange);
    close(connection);
    connection = -1;
    sem_post(&begin);
    pthread_join(thread, NULL);
}

/* One thread has exchanges on a connection of its own while another one makes the first exchange
 * of another connection, at which the library asks and sets options.  The facts: how long that
 * took (`burst_us`), and how many exchanges there were meanwhile (`meanwhile`). */
static int count, stop;

static void *exchange_on(void *unused) {
    int fd = connect_to(client);
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        two_writes(fd);
        __atomic_add_fetch(&count, 1, __ATOMIC_RELEASE);
    }
    return unused;
}

static void apart(void) {
    pthread_t thread;
    next_message(0);
    int fd = connect_to(client);
    CHECK(pthread_create(&thread, NULL, exchange_on, NULL) == 0);
    while (__atomic_load_n(&count, __ATOMIC_ACQUIRE) < client.count) usleep(1000);
    int before = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    long begin = now_us();
    two_writes(fd);
    ADD_FACT("\"burst_us\": %ld", now_us() - begin);
    ADD_FACT("\"meanwhile\": %d", __atomic_load_n(&count, __ATOMIC_ACQUIRE) - before);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

/* A thread that may be cancelled anywhere reads its first bytes.  It is cancelled inside the setsockopt that
 * the library makes for that read (UNSTALL_QUICKACK=always), with the lock held.  The main thread
 * then makes an exchange.  To be run under strace, which delays that setsockopt. */
static _Atomic pid_t reader;

static void *read_anywhere(void *unused) {
    char reply[REPLY];
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    reader = (pid_t)raw_call(SYS_gettid, 0, 0, 0, 0, 0);
    for (;;) recv(connection, reply, sizeof reply, 0);
    return unused;
}

/* Until the thread is stopped at the entry of that system call. */
static void await_call(pid_t task, long number) {
    static const struct timespec moment = {.tv_nsec = 1000000};
    char path[64], line[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", task);
    for (long begin = now_us(); now_us() - begin < 10000000;) {
        int file = (int)raw_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY, 0, 0);
        long n = raw_call(SYS_read, file, (long)line, sizeof line - 1, 0, 0);
        raw_call(SYS_close, file, 0, 0, 0, 0);
        line[n > 0 ? n : 0] = '\0';
        if (n > 0 && line[0] >= '0' && line[0] <= '9' && atol(line) == number) return;
        raw_call(SYS_nanosleep, (long)&moment, 0, 0, 0, 0);
    }
    die("the reader makes no such call");
}

static void cancelled_in_lock(void) {
    pthread_t thread;
    void *result;
    alarm(30); /* a lock that is not given back is waited for without end */
    connection = connect_to(client);
    for (int i = 0; i < client.count; i++) two_writes(connection);
    write_message(connection);
    CHECK(pthread_create(&thread, NULL, read_anywhere, NULL) == 0);
    while (reader == 0) usleep(1000);
    await_call(reader, SYS_setsockopt);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    two_writes(connection);
}

/* The main thread leaves by SYS_exit after exchanges, by libc's syscall() or inline (argv[5]: syscall,
 * inline); another thread makes exchanges, too, and ends later by returning, by pthread_exit or by SYS_exit
 * inline (argv[6]: returns, exits, inline), or stays (stays). */
static bool main_has_left(void) {
    char line[200] = "", *name;
    FILE *file = fopen("/proc/self/stat", "r");
    CHECK(file && fgets(line, sizeof line, file));
    fclose(file);
    return (name = strrchr(line, ')')) && name[2] == 'Z';
}

static void *work(void *unused) {
    while (!main_has_left()) usleep(1000);
    int fd = connect_to(client);
    exchange_all(fd, 0, client.count);
    report();
    fflush(stdout);
    if (strcmp(more, "exits") == 0) pthread_exit(NULL);
    if (strcmp(more, "inline") == 0) raw_call(SYS_exit, 5, 0, 0, 0, 0);
    while (strcmp(more, "stays") == 0) pause();
    return unused;
}

static void main_leaves(void) {
    pthread_t worker;
    CHECK(pthread_create(&worker, NULL, work, NULL) == 0);
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    if (strcmp(how, "syscall") == 0) syscall(SYS_exit, 3);
    raw_call(SYS_exit, 3, 0, 0, 0, 0);
    exit(99);
}

/* The parent connects and makes the first exchanges, a forked child goes on. */
static void child_exchanges(void) {
    int fd = connect_to(client);
    exchange_all(fd, 0, 2);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) exit(status_of(child));
    run_exchanges_from(2, fd, client.count - 2, two_writes);
    close(fd);
}

/* Exchanges, then a child with the connection as its standard input and output.  While it runs, the
 * application sets TCP_NODELAY=1.  The child ends, and the parent goes on.  argv[5] names how
 * the child is made. */
/* A program that says when it runs, and lives until the other end of `until` is closed. */
static pid_t child_on(int fd, int runs, int until, const char *how) {
    extern char **environ;
    char command[64];
    snprintf(command, sizeof command, "echo >&%d; read line <&%d", runs, until);
    char *const words[] = {"sh", "-c", command, NULL};
    pid_t child = -1;
    if (strcmp(how, "fork") == 0) {
        if ((child = fork()) == 0) {
            if (dup2(fd, 0) == 0 && dup2(fd, 1) == 1) execve("/bin/sh", words, environ);
            _exit(1);
        }
        return child;
    }
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_adddup2(&actions, fd, 0) == 0);
    CHECK(posix_spawn_file_actions_adddup2(&actions, fd, 1) == 0);
    CHECK(posix_spawn(&child, "/bin/sh", &actions, NULL, words, environ) == 0);
    return child;
}

static void spawned_on_stdio(void) {
    int fd = connect_to(client), runs[2], until[2];
    char line;
    CHECK(pipe(runs) == 0 && pipe(until) == 0 && fcntl(until[1], F_SETFD, FD_CLOEXEC) == 0);
    exchange_all(fd, 0, 5);
    pid_t child = child_on(fd, runs[1], until[0], how);
    CHECK(child > 0 && read(runs[0], &line, 1) == 1);
    set_option(fd, TCP_NODELAY, 1);
    close(until[1]);
    status_of(child);
    run_exchanges_from(5, fd, client.count, two_writes);
    ADD_FACT("\"said\": %d, \"there\": %d", option_of(fd, TCP_NODELAY),
             raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
}

/* argv[5] forks, each in an exchange whose first write may be held, and then exchanges as ever.  The facts
 * are the most tasks of this process before a fork and just after it, as /proc/self/stat counts them: Python
 * 3.12 warns in os.fork() if there are two. */
static int tasks(void) {
    char text[1024];
    long fd = raw_call(SYS_openat, AT_FDCWD, (long)"/proc/self/stat", O_RDONLY, 0, 0);
    long length = raw_call(SYS_read, fd, (long)text, sizeof text - 1, 0, 0);
    CHECK(length > 0 && raw_call(SYS_close, fd, 0, 0, 0, 0) == 0);
    text[length] = '\0';
    char *field = strrchr(text, ')'); /* the name, field 2 */
    for (int number = 2; number < 20; number++) field = strchr(field + 1, ' ');
    return atoi(field + 1);
}

static int before, after;

static void raise_to(int *most, int count) {
    if (count > *most) *most = count;
}

static void forks_within(int fd) {
    int status;
    CHECK(write(fd, message, HEADER) == HEADER);
    raise_to(&before, tasks());
    pid_t child = fork();
    if (child == 0) _exit(0);
    raise_to(&after, tasks());
    CHECK(child > 0 && raw_call(SYS_wait4, child, (long)&status, 0, 0, 0) == child);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

static void forks_between(void) {
    int fd = connect_to(client), forks = atoi(how);
    next_message(0);
    for (int i = 0; i < WARM; i++) two_writes(fd);
    for (int i = 0; i < forks; i++) forks_within(fd);
    run_exchanges(fd, client.count, two_writes);
    ADD_FACT("\"before\": %d, \"after\": %d", before, after);
}

/* A handler of SIGALRM forks while the program allocates, 300 times. With one thread libc's fork takes no
 * lock of malloc's; once libc knows a second thread it does, and the program hangs. */
enum { FORKS = 300 };

static volatile sig_atomic_t forked;

static void fork_in_handler(int number) {
    (void)number;
    int status, kept = errno;
    pid_t child = fork();
    if (child == 0) _exit(7);
    if (child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7) forked++;
    errno = kept;
}

static void forks_in_handler(void) {
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    CHECK(sigaction(SIGALRM, &(struct sigaction){.sa_handler = fork_in_handler}, NULL) == 0);
    struct itimerval each = {{0, 1000}, {0, 1000}};
    CHECK(setitimer(ITIMER_REAL, &each, NULL) == 0);
    for (unsigned i = 0; forked < FORKS; i++) free(malloc(16 + i % 100000));
    CHECK(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL) == 0);
    ADD_FACT("\"forks\": %d", (int)forked);
}

/* COUNT exchanges, behind each of them system(3), before which a thread of ours ends, and a handler that
 * forks at about that time.  The child returns from the handler and leaves.  How many did not. */
enum { GIVE_UP_MS = 20000 };

static volatile sig_atomic_t wanted, in_child;
static volatile pid_t child;

static void fork_once(int signal) {
    (void)signal;
    if (!wanted || in_child) return;
    wanted = 0;
    pid_t made = fork();
    if (made == 0) in_child = 1;
    else child = made;
}

static bool ends(pid_t pid) {
    for (int i = 0; i < GIVE_UP_MS; i++, usleep(1000))
        if (waitpid(pid, NULL, WNOHANG) == pid) return true;
    kill(pid, SIGKILL);
    return waitpid(pid, NULL, 0) != pid;
}

static void forks_beneath_stop(void) {
    struct sigaction action = {.sa_handler = fork_once, .sa_flags = SA_RESTART};
    int made = 0, hung = 0, fd = connect_to(client);
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < client.count && !hung; i++) {
        run_exchanges(fd, 1, two_writes);
        struct itimerval soon = {{0, 0}, {0, 1 + i % 60 * 3}};
        child = 0;
        wanted = 1;
        setitimer(ITIMER_REAL, &soon, NULL);
        CHECK(system("") >= -1);
        if (in_child) _exit(0);
        while (wanted) {}
        if (in_child) _exit(0);
        made++;
        hung += !ends(child);
    }
    ADD_FACT("\"made\": %d, \"hung\": %d", made, hung);
}

/* Exchanges made by a signal handler, on a connection of its own, while the main
 * program is at any point of its own exchanges.  The timer is set again by the handler: it must
 * not come back before the main program has moved on. */
static int own, handlers;
static volatile sig_atomic_t rounds;
static const struct itimerval soon = {.it_value.tv_usec = 700}, never;

static void on_alarm(int number) {
    (void)number;
    int saved = errno;
    char data[HEADER + BODY], reply[REPLY];
    fill(data, sizeof data, (size_t)rounds++ * sizeof data);
    CHECK(write(handlers, data, HEADER) == HEADER);
    CHECK(write(handlers, data + HEADER, BODY) == BODY);
    CHECK(recv(handlers, reply, sizeof reply, MSG_WAITALL) == REPLY);
    setitimer(ITIMER_REAL, &soon, NULL);
    errno = saved;
}

static void handler_exchanges(void) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    own = connect_to(client);
    handlers = connect_to(client);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    run_exchanges(own, client.count, two_writes);
    setitimer(ITIMER_REAL, &never, NULL);
    close(own);
    close(handlers);
    ADD_FACT("\"handled\": %d", (int)rounds);
}

/* SIGRTMIN is blocked in the program's threads and taken by sigtimedwait (argv[5] == "wait"), or unblocked at
 * one place alone, where its handler runs ("handler"), while exchanges are made and a timer sends it.  With
 * "late" it is blocked only after the first exchanges: a thread of ours does not inherit that. */
enum { TIMES = 20 };

static volatile sig_atomic_t handled, elsewhere, may;
static pid_t main_task;

static void count_signal(int number) {
    (void)number;
    handled++;
    if (!may || (pid_t)raw_call(SYS_gettid, 0, 0, 0, 0, 0) != main_task) elsewhere++;
}

static void timer_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    bool late = strcmp(how, "late") == 0;
    if (!late) CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    main_task = (pid_t)raw_call(SYS_gettid, 0, 0, 0, 0, 0);
    bool waits = strcmp(how, "wait") == 0;
    if (!waits) CHECK(sigaction(SIGRTMIN, &(struct sigaction){.sa_handler = count_signal}, NULL) == 0);
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    if (late) CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);

    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec each = {{0, 5000000}, {0, 5000000}};
    CHECK(timer_settime(timer, 0, &each, NULL) == 0);
    int taken = 0;
    for (int i = 0; i < TIMES; i++) {
        two_writes(fd); /* the thread that holds bytes is awake */
        struct timespec most = {5, 0};
        if (waits) {
            taken += sigtimedwait(&set, NULL, &most) == SIGRTMIN;
            continue;
        }
        long begin = now_us();
        while (now_us() - begin < 6000) {}
        may = 1;
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        sigprocmask(SIG_BLOCK, &set, NULL);
        may = 0;
    }
    ADD_FACT("\"taken\": %d, \"elsewhere\": %d", waits ? taken : (int)handled, (int)elsewhere);
}
