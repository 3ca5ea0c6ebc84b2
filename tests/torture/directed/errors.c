/* SPDX-License-Identifier: MIT
 *
 * Errors and SIGPIPE come at a call where TCP could have shown them to the bare
 * program: a second connection, used by raw system calls alone, says where.
 */
#include "directed.h"

#include <sys/sendfile.h>
#include <sys/wait.h>

enum { CALLS = 6 };

static volatile sig_atomic_t pipes;

/* The kernel's own is like one by kill(2) of this process, and not by tgkill(2). */
static void on_pipe(int number, siginfo_t *about, void *context) {
    enum { STRANGE = 100 };
    (void)number, (void)context;
    bool kernels = about->si_code == SI_USER && about->si_pid == getpid() && about->si_uid == getuid();
    pipes += kernels ? 1 : STRANGE;
}

static void watch_pipes(void) {
    struct sigaction action = {.sa_sigaction = on_pipe, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGPIPE, &action, NULL);
}

/* A call's result, and the number of SIGPIPE that came with it. */
struct answer {
    int error; /* 0: it succeeded */
    int pipes;
};

static struct answer answer_of(long n) {
    struct answer a = {n < 0 ? (n == -1 ? errno : (int)-n) : 0, pipes};
    pipes = 0;
    return a;
}

static int with_flags; /* of send(2); none: write(2) */

static void write_calls(struct pair *p, bool by_raw, struct answer *answers) {
    for (int i = 0; i < CALLS; i++) {
        if (by_raw) {
            long n = raw(SYS_sendto, p->ours, (long)content(0), 100, with_flags, 0, 0);
            answers[i] = (struct answer){n < 0 ? (int)-n : 0, pipes};
            pipes = 0;
        } else {
            answers[i] = answer_of(with_flags ? send(p->ours, content(0), 100, with_flags)
                                              : write(p->ours, content(0), 100));
        }
        raw_sleep(window_ms() + 60); /* the window lets go */
        usleep(100);                 /* ... or, on a busy machine, this does */
        is_over(p);                  /* the peer answers */
    }
}

static int successes(const struct answer *answers) {
    int count = 0;
    while (count < CALLS && answers[count].error == 0)
        count++;
    return count;
}

/* The same errors in the same order; coalesce may succeed once more before the first. */
static void compare(const char *what, const struct answer *mine, const struct answer *bare) {
    int from = successes(bare), later = successes(mine) - from;
    CHECK(later == 0 || (later == 1 && mode_is("coalesce")), "%s: %d calls succeed, bare %d", what,
          later + from, from);
    for (int i = from; i + later < CALLS; i++)
        CHECK(mine[i + later].error == bare[i].error && mine[i + later].pipes == bare[i].pipes,
              "%s, call %d: %s with %d SIGPIPE, bare %s with %d", what, i + later,
              strerror(mine[i + later].error), mine[i + later].pipes, strerror(bare[i].error),
              bare[i].pipes);
}

static void reset(struct pair *p) {
    struct linger at_once = {1, 0};
    raw(SYS_setsockopt, p->theirs, SOL_SOCKET, SO_LINGER, (long)&at_once, sizeof(at_once), 0);
    raw(SYS_close, p->theirs, 0, 0, 0, 0, 0);
    is_told(p);
}

static void close_theirs(struct pair *p) {
    raw(SYS_close, p->theirs, 0, 0, 0, 0, 0);
    is_told(p);
}

/* `held`: the end comes while bytes are held. */
static void writes_after(const char *what, void (*end)(struct pair *), bool held) {
    struct answer mine[CALLS], bare[CALLS];
    struct pair ours = pair_warm(0), same = pair_warm(0);
    watch_pipes();
    if (held) {
        put_all(&ours, 50);
        raw(SYS_write, same.ours, (long)content(same.put), 50, 0, 0, 0);
    }
    end(&ours);
    end(&same);
    write_calls(&ours, false, mine);
    write_calls(&same, true, bare);
    compare(what, mine, bare);
}

/* ---- the same by calls that are neither held nor buffered --------------- */

static int source; /* of sendfile */

static ssize_t by_sendfile(int fd, bool by_raw) {
    off_t from = 0;
    return by_raw ? raw(SYS_sendfile, fd, source, (long)&from, 100, 0, 0) : sendfile(fd, source, &from, 100);
}

static ssize_t by_splice(int fd, bool by_raw) {
    int ends_of[2];
    CHECK(pipe(ends_of) == 0 && write(ends_of[1], content(0), 100) == 100, "pipe");
    ssize_t n = by_raw ? raw(SYS_splice, ends_of[0], 0, fd, 0, 100, 0)
                       : splice(ends_of[0], NULL, fd, NULL, 100, 0);
    int saved = errno;
    close(ends_of[0]);
    close(ends_of[1]);
    errno = saved;
    return n;
}

static ssize_t by_sendmmsg(int fd, bool by_raw) {
    struct iovec part = {(void *)(uintptr_t)content(0), 100};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    return by_raw ? raw(SYS_sendmmsg, fd, (long)&message, 1, 0, 0, 0) : sendmmsg(fd, &message, 1, 0);
}

static ssize_t by_more(int fd, bool by_raw) {
    return by_raw ? raw(SYS_sendto, fd, (long)content(0), 100, MSG_MORE, 0, 0)
                  : send(fd, content(0), 100, MSG_MORE);
}

static ssize_t by_urgent(int fd, bool by_raw) {
    return by_raw ? raw(SYS_sendto, fd, (long)content(0), 100, MSG_OOB, 0, 0)
                  : send(fd, content(0), 100, MSG_OOB);
}

/* The reset comes while bytes are held; the window has passed or has not. */
static void other_calls_after_reset_while_holding(void) {
    static const struct {
        const char *name;
        ssize_t (*call)(int fd, bool by_raw);
    } forms[] = {{"sendfile", by_sendfile}, {"splice", by_splice}, {"sendmmsg", by_sendmmsg},
                 {"MSG_MORE", by_more}, {"MSG_OOB", by_urgent}};
    watch_pipes();
    source = memfd_create("source", MFD_CLOEXEC);
    CHECK(write(source, content(0), 100) == 100, "memfd");
    for (unsigned form = 0; form < sizeof(forms) / sizeof(*forms); form++)
        for (int waits = 0; waits < 2; waits++) {
            struct pair ours = pair_warm(0), same = pair_warm(0);
            put_all(&ours, 50);
            raw(SYS_write, same.ours, (long)content(same.put), 50, 0, 0, 0);
            reset(&ours);
            reset(&same);
            if (waits)
                raw_sleep(window_ms() + 60);
            for (int i = 0; i < 2; i++) {
                struct answer bare = answer_of(forms[form].call(same.ours, true));
                struct answer mine = answer_of(forms[form].call(ours.ours, false));
                CHECK(mine.error == bare.error && mine.pipes == bare.pipes,
                      "%s, call %d%s: %s with %d SIGPIPE, bare %s with %d", forms[form].name, i,
                      waits ? " after the window" : "", strerror(mine.error), mine.pipes,
                      strerror(bare.error), bare.pipes);
            }
            close(ours.ours);
            close(same.ours);
        }
    close(source);
}

static int32_t writing_task;

static void *reset_once_blocked(void *p) {
    is_blocked(writing_task);
    reset(p);
    return NULL;
}

/* The reset comes while a long write behind a small one blocks.  That write tells of its first bytes, the
 * next one of the reset. */
static void a_reset_amid_a_long_write(void) {
    enum { LONG = 16 << 20 };
    struct answer next[2];
    static char bytes[LONG];
    struct pair p = pair_warm(0);
    int room = 4096;
    watch_pipes();
    raw(SYS_setsockopt, p.theirs, SOL_SOCKET, SO_RCVBUF, (long)&room, sizeof(room), 0);
    put_all(&p, 50);
    writing_task = own_task();
    void *thread = in_thread(reset_once_blocked, &p);
    ssize_t n = write(p.ours, bytes, LONG);
    CHECK(n > 0 && n < LONG && pipes == 0, "the long write returned %zd, %d SIGPIPE", n, (int)pipes);
    joined(thread);
    for (int i = 0; i < 2; i++)
        next[i] = answer_of(write(p.ours, "next", 4));
    CHECK(next[0].error == ECONNRESET && next[0].pipes == 0, "the next write: %s, %d SIGPIPE",
          strerror(next[0].error), next[0].pipes);
    CHECK(next[1].error == EPIPE && next[1].pipes == 1, "the one after it: %s, %d SIGPIPE",
          strerror(next[1].error), next[1].pipes);
}

static int so_error(int fd) {
    int error = -1;
    socklen_t length = sizeof(error);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0, "SO_ERROR: %s", strerror(errno));
    return error;
}

/* The application still gets the error of a push of ours, once. */
static void error_is_not_consumed(void) {
    for (int way = 0; way < 4; way++) {
        struct pair p = pair_warm(0);
        struct pollfd ready = {.fd = p.ours, .events = POLLIN};
        char byte;
        watch_pipes();
        put_all(&p, 50);
        reset(&p);
        if (way < 2)
            raw_sleep(window_ms() + 60); /* the window pushes into a broken connection */
        else
            poll(&ready, 1, 10); /* the wait does */
        if (way % 2) {
            ssize_t n = recv(p.ours, &byte, 1, 0);
            CHECK(n == -1 && errno == ECONNRESET, "recv after a reset returned %zd: %s", n,
                  n < 0 ? strerror(errno) : "");
            n = recv(p.ours, &byte, 1, 0);
            CHECK(n == 0, "the second recv returned %zd: %s", n, n < 0 ? strerror(errno) : "");
        } else {
            int error = so_error(p.ours);
            CHECK(error == ECONNRESET, "SO_ERROR after a reset: %s", strerror(error));
        }
        int again = so_error(p.ours);
        CHECK(again == 0, "SO_ERROR once more: %s", strerror(again));
        CHECK(pipes == 0, "%d SIGPIPE without a write", (int)pipes);
        ssize_t n = write(p.ours, "x", 1);
        CHECK(n == -1 && errno == EPIPE && pipes == 1, "a write after it: %zd %s, %d SIGPIPE", n,
              n < 0 ? strerror(errno) : "", (int)pipes);
        pipes = 0;
        close(p.ours);
    }
}

/* The error of a push of ours raises no signal: only a write does. */
static void no_signal_by_a_push(void) {
    struct pair p = pair_warm(0);
    struct pollfd none = {.fd = -1};
    watch_pipes();
    raw(SYS_close, p.theirs, 0, 0, 0, 0, 0);
    put_all(&p, 50);
    poll(&none, 1, 20); /* it leaves now, and is answered by a reset */
    is_over(&p);
    if (put(&p, 50) > 0) {
        poll(&none, 1, 20);
        char byte;
        CHECK(pipes == 0, "SIGPIPE in poll");
        CHECK(recv(p.ours, &byte, 1, 0) == 0, "not the peer's end: %s", strerror(errno));
        CHECK(put(&p, 50) == -1, "a write after a reset");
    }
    CHECK(errno == EPIPE && pipes == 1, "%s, %d SIGPIPE", strerror(errno), (int)pipes);
}

/* By default SIGPIPE ends the process: at the same call as the bare one. */
static int writes_until_killed(bool by_raw) {
    int counted[2];
    char counts[64];
    CHECK(pipe(counted) == 0, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        struct pair p = pair_warm(0);
        raw(SYS_close, p.theirs, 0, 0, 0, 0, 0);
        is_told(&p);
        for (int i = 0; i < 20; i++) {
            if (by_raw)
                raw(SYS_write, p.ours, (long)"xyz", 3, 0, 0, 0);
            else if (write(p.ours, "xyz", 3) < 0)
                _exit(9);
            raw(SYS_write, counted[1], (long)"x", 1, 0, 0, 0);
            raw_sleep(window_ms() + 60);
            is_over(&p); /* what a busy machine lets go later is answered later */
        }
        _exit(0);
    }
    int status;
    close(counted[1]);
    waitpid(pid, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE, "the child ended with %x", (unsigned)status);
    ssize_t n = read(counted[0], counts, sizeof(counts));
    close(counted[0]);
    return (int)n;
}

static void sigpipe_kills(void) {
    int bare = writes_until_killed(true), mine = writes_until_killed(false);
    CHECK(mine == bare || (mode_is("coalesce") && mine > bare && mine <= bare + 3),
          "%d writes, bare %d", mine, bare);
}

static void refused(void) {
    struct pair p = pair_make(0);
    struct sockaddr_in address;
    socklen_t length = sizeof(address);
    getpeername(p.ours, (struct sockaddr *)&address, &length); /* no socket listens there any more */
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr *)&address, length) == -1 && errno == ECONNREFUSED,
          "connect: %s", strerror(errno));
    watch_pipes();
    CHECK(write(fd, "x", 1) == -1 && errno == EPIPE && pipes == 1,
          "a write after ECONNREFUSED: %s, %d SIGPIPE", strerror(errno), (int)pipes);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (connect(fd, (struct sockaddr *)&address, length) == -1 && errno == EINPROGRESS) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        poll(&ready, 1, 1000);
        CHECK(so_error(fd) == ECONNREFUSED, "SO_ERROR does not say ECONNREFUSED");
    }
    close(fd);
}

CASE("writes after a reset", writes_after("after a reset", reset, false))
CASE("writes after a reset that came while holding",
     writes_after("after a reset while holding", reset, true))
CASE("other calls after a reset while holding", other_calls_after_reset_while_holding())
CASE("a reset amid a long write", a_reset_amid_a_long_write())
CASE("writes after the peer's close", writes_after("after the peer's close", close_theirs, false))
CASE("MSG_NOSIGNAL after the peer's close", with_flags = MSG_NOSIGNAL;
     writes_after("after the peer's close", close_theirs, false))
CASE("an error met by a push is not consumed", error_is_not_consumed())
CASE("a push raises no signal", no_signal_by_a_push())
CASE("SIGPIPE kills at the right call", sigpipe_kills())
CASE("connection refused", refused())
