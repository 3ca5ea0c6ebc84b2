/* SPDX-License-Identifier: MIT
 *
 * Programs that once met a defect of the library: several threads, or several processes.
 */
#include <limits.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <spawn.h>
#include <sys/time.h>

#ifndef PROGRAM
#define PROGRAM was_draining
#endif
#include "session.h"

/* Blocking writes fill the send buffer, as the peer does not read yet, and in the one that blocks a
 * signal handler (argv[5])
 *
 *   writes   a piece of its own to the same connection, and the write goes on
 *   jumps    out of it, and the program writes again
 *   closes   writes a piece, and another thread closes the connection
 *
 * All bytes are the same; the fact `bytes` is how many there are at least, `at_most` counts the whole
 * of the write that was left. */
enum { PIECE = 1000, PIECES = 100, SMALL = 100, AFTER_US = 200000 };

static int fd;
static volatile size_t sent;
static volatile bool written, closed;
static sigjmp_buf place;
static char piece[PIECE];

static void write_more(int number) {
    (void)number;
    CHECK(write(fd, piece, 1) == 1);
    sent += 1;
    written = true;
}

static void *close_then(void *unused) {
    while (!written) sched_yield();
    closed = true;
    CHECK(close(fd) == 0);
    return unused;
}

static void jump(int number) {
    (void)number;
    siglongjmp(place, 1);
}

static void put(size_t bytes) {
    ssize_t n = write(fd, piece, bytes); /* a signal may cut it short */
    CHECK(n > 0 || closed);
    sent += n > 0 ? (size_t)n : 0;
}

static void was_draining(void) {
    bool jumps = strcmp(how, "jumps") == 0, closes = strcmp(how, "closes") == 0;
    pthread_t closer;
    struct sigaction action = {.sa_handler = jumps ? jump : write_more, .sa_flags = SA_RESTART};
    struct itimerval soon = {.it_value.tv_usec = AFTER_US};
    int small = 4608;
    memset(piece, 'd', sizeof piece);
    fd = connect_to(client);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    sigaction(SIGALRM, &action, NULL);
    CHECK(write(fd, piece, PIECE) == PIECE);
    read_reply(fd);
    sent = PIECE;
    put(SMALL); /* coalesce buffers it, and then there is no more room, unseen */
    for (long n; (n = raw_call(SYS_sendto, fd, (long)piece, PIECE, MSG_DONTWAIT, 0)) > 0;)
        sent += (size_t)n;
    if (closes) {
        CHECK(pthread_create(&closer, NULL, close_then, NULL) == 0);
    }
    setitimer(ITIMER_REAL, &soon, NULL);
    if (sigsetjmp(place, 1) == 0)
        for (int i = 0; i < PIECES && !closed; i++) put(PIECE);
    put(PIECE);
    ADD_FACT("\"bytes\": %zu, \"at_most\": %zu", (size_t)sent, (size_t)sent + (jumps ? PIECE : 0));
    if (!closes)
        close(fd);
}

/* The send buffer is full, and the peer does not read.  Two threads block in a write, one after the other,
 * and the second write
 *
 *   interrupts  at signals
 *   restarts    after signals (SA_RESTART)
 *   closes      goes on while the descriptor is closed
 *   cancels     ends with its thread, which is cancelled
 *
 * The facts: what the second write returned, its errno, and whether that was before the peer read. */
enum { LARGE = 8000 /* never buffered */, SIGNALS = 5, SIGNALS_MOST = 100, APART_US = 20000, LOOKS = 5 };

typedef struct {
    pthread_t thread;
    volatile pid_t id;
    volatile bool returned;
    ssize_t sent;
    int error;
} writer_t;

static char large_piece[LARGE];

static void nothing(int number) {
    (void)number;
}

static void *write_large(void *argument) {
    writer_t *writer = argument;
    writer->id = (pid_t)raw_call(SYS_gettid, 0, 0, 0, 0, 0);
    writer->sent = write(fd, large_piece, LARGE);
    writer->error = writer->sent < 0 ? errno : 0;
    writer->returned = true;
    return NULL;
}

static char state_of(pid_t id) {
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)id);
    FILE *file = fopen(path, "r");
    CHECK(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
    fclose(file);
    return state;
}

static void start_and_await_sleep(writer_t *writer) {
    CHECK(pthread_create(&writer->thread, NULL, write_large, writer) == 0);
    while (!writer->id) sched_yield();
    for (int looks = 0; looks < LOOKS; looks++, usleep(1000))
        if (state_of(writer->id) != 'S') looks = -1;
}

static int fill_unseen(void) {
    int pieces = 0;
    while (raw_call(SYS_sendto, fd, (long)large_piece, PIECE, MSG_DONTWAIT, 0) > 0) pieces++;
    return pieces;
}

static void send_signals(writer_t *writer, int most) {
    for (int i = 0; i < most && !writer->returned; i++) {
        CHECK(pthread_kill(writer->thread, SIGUSR1) == 0);
        usleep(APART_US);
    }
}

static void was_second_writer(void) {
    bool restarts = strcmp(how, "restarts") == 0;
    struct sigaction action = {.sa_handler = nothing, .sa_flags = restarts ? SA_RESTART : 0};
    int small = 4608, large = 16384;
    writer_t first = {0}, second = {0};
    void *end = NULL;
    fd = connect_to(client);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    sigaction(SIGUSR1, &action, NULL);
    CHECK(write(fd, large_piece, PIECE) == PIECE);
    read_reply(fd);
    while (fill_unseen()) await_settled(fd); /* the peer takes no more */
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof large) == 0);
    CHECK(write(fd, large_piece, SMALL) == SMALL); /* coalesce buffers it, and then there is no more room */
    fill_unseen();
    start_and_await_sleep(&first);
    start_and_await_sleep(&second);
    if (strcmp(how, "closes") == 0) {
        CHECK(close(fd) == 0);
        usleep(APART_US);
    } else if (strcmp(how, "cancels") == 0) {
        CHECK(pthread_cancel(second.thread) == 0 && pthread_join(second.thread, &end) == 0);
        CHECK(end == PTHREAD_CANCELED);
    } else {
        send_signals(&second, restarts ? SIGNALS : SIGNALS_MOST);
    }
    bool early = second.returned;
    tell_peer(client);
    CHECK(pthread_join(first.thread, NULL) == 0);
    CHECK(end || pthread_join(second.thread, NULL) == 0);
    CHECK(first.sent == LARGE);
    ADD_FACT("\"sent\": %zd, \"error\": %d, \"early\": %s", second.sent, second.error,
             early ? "true" : "false");
}

/* One thread has the window's thread ended again and again (argv[5]: by unshare, or by a seccomp filter that
 * is refused), another writes a small piece and waits for the reply in a way that the library does not see.
 * The fact `late`: how often it waited too long. */
enum { LATE_US = 150000 }; /* the kernel sends forgotten bytes after 200 ms */

static int stop;
static bool by_filter;

static void *ends_windows(void *unused) {
    for (unsigned n = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n = n * 1103515245 + 12345) {
        if (by_filter)
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
        else
            unshare(0);
        for (unsigned i = n >> 18; i > 0; i--) __asm__ volatile("");
    }
    return unused;
}

static void was_held_at_the_stop(void) {
    int fd = connect_to(client), late = 0;
    pthread_t thread;
    by_filter = strcmp(how, "filter") == 0;
    write(fd, message, HEADER + BODY);
    read_reply(fd);
    CHECK(pthread_create(&thread, NULL, ends_windows, NULL) == 0);
    for (int i = 0; i < client.count; i++) {
        struct pollfd reply = {.fd = fd, .events = POLLIN};
        long begin = now_us();
        CHECK(write(fd, message, HEADER + BODY) == HEADER + BODY);
        CHECK(raw_call(SYS_poll, (long)&reply, 1, 2000, 0, 0) == 1);
        late += now_us() - begin > LATE_US;
        read_reply(fd);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    ADD_FACT("\"late\": %d", late);
}

/* Two threads write at the same moment to a connection that was created unseen.  It is closed, another with
 * TCP_NODELAY of the application's own takes its number, and an exec fails.  The fact `undone`: how many
 * times that connection had lost its TCP_NODELAY. */
static pthread_barrier_t both;

static void *write_six(void *unused) {
    pthread_barrier_wait(&both);
    for (int i = 0; i < 6; i++) CHECK(write(fd, message, 1) == 1);
    return unused;
}

static void was_met_by_two(void) {
    char *const words[] = {"nothing", NULL};
    int undone = 0;
    CHECK(pthread_barrier_init(&both, NULL, 2) == 0);
    for (int i = 0; i < client.count; i++) {
        pthread_t threads[2];
        fd = connect_unseen(client);
        for (int n = 0; n < 2; n++) CHECK(pthread_create(&threads[n], NULL, write_six, NULL) == 0);
        for (int n = 0; n < 2; n++) pthread_join(threads[n], NULL);
        CHECK(close(fd) == 0);
        int next = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(next == fd);
        set_option(next, TCP_NODELAY, 1);
        execv("/does/not/exist", words);
        undone += raw_option(next, IPPROTO_TCP, TCP_NODELAY) != 1;
        close(next);
    }
    ADD_FACT("\"undone\": %d", undone);
}

/* The program sets TCP_NODELAY while another thread keeps trying to run a program that is not there. The fact
 * `lost`: how often the kernel kept 0 after the program's 1. */
static bool over;

static void *fail_to_run(void *unused) {
    char *words[] = {NULL};
    (void)unused;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) execv("/there/is/no/such/program", words);
    return NULL;
}

/* Where the other thread has no processor for so long that nobody waits for it any more, what was set in the
 * midst of its walk is made up for when it goes on. */
static bool comes_back(int fd) {
    for (long begin = now_us(); now_us() - begin < 5000000; sched_yield())
        if (raw_option(fd, IPPROTO_TCP, TCP_NODELAY) != 0) return true;
    return false;
}

static void was_set_meanwhile(void) {
    int fd = connect_to(client), lost = 0;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fail_to_run, NULL) == 0);
    for (int i = 0; i < client.count; i++) {
        next_message(i);
        set_option(fd, TCP_NODELAY, 0);
        write_message(fd);
        set_option(fd, TCP_NODELAY, 1);
        lost += !comes_back(fd);
        read_reply(fd);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    ADD_FACT("\"lost\": %d", lost);
}

/* A child has the connection too, and runs a program only after the parent has made more than a hundred
 * exchanges: then the parent goes on. */
enum { BETWEEN = 150 };

static void was_forked_then_ran(void) {
    int fd = connect_to(client), go[2];
    char byte;
    CHECK(pipe(go) == 0);
    run_exchanges(fd, client.count, two_writes);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(go[1]);
        if (read(go[0], &byte, 1) == 0) execl("/bin/true", "true", NULL);
        _exit(127);
    }
    close(go[0]);
    run_exchanges(fd, BETWEEN, two_writes);
    close(go[1]);
    CHECK(status_of(child) == 0);
    run_exchanges(fd, client.count, two_writes);
}

/* A child program has the connection as its standard input for a while; exchanges are made
 * meanwhile, and go on when it has ended.  Fifth argument: how it is started. */
extern char **environ;

static char *const words[] = {"sleep", "0.2", NULL};

static pid_t by_posix_spawn(int fd) {
    pid_t child = 0;
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_adddup2(&actions, fd, 0) == 0);
    CHECK(posix_spawnp(&child, "sleep", &actions, NULL, words, environ) == 0);
    return child;
}

static pid_t by_fork(int fd) {
    pid_t child = fork();
    if (child != 0) return child;
    dup2(fd, 0);
    execvp("sleep", words);
    _exit(99);
}

static void was_inherited_by_child(void) {
    int fd = connect_to(client);
    FILE *stream = NULL;
    char command[40];
    exchange_all(fd, 0, 6);
    pid_t child = strcmp(how, "fork") == 0 ? by_fork(fd) : 0;
    if (strcmp(how, "posix_spawn") == 0) child = by_posix_spawn(fd);
    snprintf(command, sizeof command, "sleep 0.2 <&%d", fd);
    if (strcmp(how, "popen") == 0) stream = popen(command, "r");
    CHECK(child > 0 || stream);
    for (int i = 6; i < 9; i++) {
        usleep(30000);
        next_message(i);
        two_writes(fd);
    }
    CHECK(stream ? pclose(stream) == 0 : waitpid(child, NULL, 0) == child);
    run_exchanges(fd, client.count, two_writes);
}

/* A connection is sent over a Unix socket pair and received again, while its old number is written to.
 *
 * argv[5]  early | late     received before the writes, or after them
 * argv[6]  open | closed    the old number when the new one is first asked
 *
 * Or both `child`: another process receives it, and asks once the old number is closed. */
static int in_a_child(client_t client, int ends[2]) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char byte;
        close(ends[0]);
        int fd = receive_descriptor(ends[1], 0);
        CHECK(read(ends[1], &byte, 1) == 1);
        _exit(option_of(fd, TCP_NODELAY));
    }
    int fd = connect_to(client);
    exchange_all(fd, 0, 2);
    send_descriptor(ends[0], fd, false);
    exchange_all(fd, 2, 2);
    close(fd);
    CHECK(write(ends[0], "x", 1) == 1);
    return status_of(child);
}

static int in_this_process(client_t client, int ends[2], bool early, bool closed) {
    int fd = connect_to(client), again = -1;
    exchange_all(fd, 0, 2);
    send_descriptor(ends[0], fd, false);
    if (early) again = receive_descriptor(ends[1], 0);
    exchange_all(fd, 2, 2);
    if (!early) again = receive_descriptor(ends[1], 0);
    if (closed) close(fd);
    int value = option_of(again, TCP_NODELAY);
    exchange_all(again, 4, 2);
    return value;
}

static void was_passed_back(void) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    int value = strcmp(how, "child") == 0
                    ? in_a_child(client, ends)
                    : in_this_process(client, ends, strcmp(how, "early") == 0,
                                      strcmp(more, "closed") == 0);
    ADD_FACT("\"nodelay\": %d", value);
}

/* Exchanges; a fork (argv[5]: fork or _Fork); then the parent sets TCP_NODELAY, and after that its child runs
 * another program.  Then exchanges again.  The facts: TCP_NODELAY as read back and as the kernel has it. */
static void was_set_after_fork(void) {
    int fd = connect_to(client), told[2];
    char byte = 'x';
    exchange_all(fd, 0, client.count);
    CHECK(pipe2(told, O_CLOEXEC) == 0);
    pid_t child = strcmp(how, "fork") == 0 ? fork() : _Fork();
    if (child == 0) {
        raw_call(SYS_read, told[0], (long)&byte, 1, 0, 0);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    set_option(fd, TCP_NODELAY, 1);
    CHECK(raw_call(SYS_write, told[1], (long)&byte, 1, 0, 0) == 1);
    int status = -1;
    CHECK(raw_call(SYS_wait4, child, (long)&status, 0, 0, 0) == child && status == 0);
    ADD_FACT("\"nodelay\": %d, \"kernel\": %d", option_of(fd, TCP_NODELAY),
             raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    run_exchanges(fd, client.count, two_writes);
    close(fd);
}

/* A connection that came over a Unix socket, is cured, and then goes on in a forked child, which sets
 * TCP_NODELAY itself.  The parent closes its number after that.  The child prints the kernel's value. */
static int sent_to_ourselves(int fd) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    send_descriptor(ends[0], fd, false);
    close(fd);
    return receive_descriptor(ends[1], 0);
}

static void was_set_by_child(void) {
    int fd = sent_to_ourselves(connect_to(client)), set[2], closed[2];
    char byte = 0;
    CHECK(pipe(set) == 0 && pipe(closed) == 0);
    exchange_all(fd, 0, client.count);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        set_option(fd, TCP_NODELAY, 1);
        CHECK(write(set[1], &byte, 1) == 1 && read(closed[0], &byte, 1) == 1);
        _exit(raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    }
    CHECK(read(set[0], &byte, 1) == 1);
    close(fd);
    CHECK(write(closed[1], &byte, 1) == 1);
    ADD_FACT("\"nodelay\": %d", status_of(child));
}

/* stdio on a socket, header and body flushed apart, after the process has run another program: how
 * (argument 5) is `system`, `fork` or `late`, where the child runs it while the exchanges go on. */
static FILE *stream;

static void flush_twice(int fd) {
    CHECK(fwrite(message, 1, HEADER, stream) == HEADER && fflush(stream) == 0);
    CHECK(fwrite(message + HEADER, 1, BODY, stream) == BODY && fflush(stream) == 0);
    read_reply(fd);
}

static void run_true(const char *how) {
    if (strcmp(how, "system") == 0) {
        CHECK(system("true") == 0);
        return;
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl("/bin/true", "true", NULL);
        _exit(127);
    }
    CHECK(status_of(child) == 0);
}

static void was_stdio_then_ran(void) {
    int fd = connect_to(client);
    stream = fdopen(dup(fd), "w");
    CHECK(stream);
    next_message(0);
    flush_twice(fd);
    run_true(how);
    run_exchanges(fd, client.count, flush_twice);
}
