/* SPDX-License-Identifier: MIT
 *
 * Bytes that are held when the process divides, or when another program or
 * process gets the connection: sent once, by who wrote them, and in order.
 */
#include "directed.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { FIRST = 120, SECOND = 90, THIRD = 70 };

/* Unseen: waitpid would let go of what is held. */
static void wait_for(pid_t pid) {
    int status = -1;
    while (raw(SYS_wait4, pid, (long)&status, 0, 0, 0, 0) == -EINTR)
        ;
    CHECK(status == 0, "the child ended with %x", (unsigned)status);
}

/* The child's own part of the stream; the parent counts it too. */
static void child_puts(struct pair *p, size_t bytes) {
    CHECK(write(p->ours, content(p->put), bytes) == (ssize_t)bytes, "in the child: %s", strerror(errno));
}

/* ---- fork ------------------------------------------------------------ */

static void fork_while_holding(pid_t (*divide)(void)) {
    struct pair p = pair_warm(0);
    for (int round = 0; round < 3; round++) {
        put_all(&p, FIRST);
        pid_t pid = divide();
        if (pid == 0) {
            child_puts(&p, SECOND);
            _exit(0);
        }
        wait_for(pid);
        p.put += SECOND;
        put_all(&p, THIRD);
        struct pair before = p;
        exchange(&p);
        CHECK(p.received == before.put + 300, "more or less than was written");
    }
    close(p.ours);
    ends(&p, 300);
}

/* A fork that no library sees: the parent sends its held bytes, once. */
static void unseen_fork(void) {
    struct pair p = pair_warm(0);
    for (int round = 0; round < 3; round++) {
        put_all(&p, FIRST);
        pid_t pid = (pid_t)raw(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
        if (pid == 0) {
            settles(&p); /* the parent's window has ended */
            if (round < 2)
                child_puts(&p, SECOND);
            if (round == 1)
                close(p.ours);
            _exit(0);
        }
        wait_for(pid);
        p.put += round < 2 ? SECOND : 0;
        put_all(&p, THIRD);
        exchange(&p);
    }
    close(p.ours);
    ends(&p, 300);
}

/* The child goes on while the parent, with bytes held, only closes. */
static void parent_leaves(void) {
    for (int round = 0; round < 2; round++) {
        struct pair p = pair_warm(0);
        put_all(&p, FIRST);
        pid_t pid = fork();
        if (pid == 0) {
            raw_sleep(10);
            child_puts(&p, SECOND);
            p.put += SECOND;
            child_puts(&p, THIRD);
            exit(0);
        }
        close(p.ours);
        p.put += SECOND + THIRD;
        wait_for(pid);
        ends(&p, 500);
    }
}

/* A child that only ends sends nothing of what the parent holds. */
static void child_ends_at_once(void) {
    struct pair p = pair_warm(0);
    for (int round = 0; round < 4; round++) {
        put_all(&p, FIRST);
        pid_t pid = fork();
        if (pid == 0) {
            if (round == 1)
                close(p.ours);
            if (round == 2)
                exit(0);
            _exit(0);
        }
        wait_for(pid);
        put_all(&p, SECOND);
        exchange(&p);
    }
}

static struct pair shared;
static uint32_t stage;

static void *put_and_stay(void *unused) {
    (void)unused;
    put_all(&shared, FIRST);
    word_set(&stage, 1);
    word_wait(&stage, 1);
    return NULL;
}

static pid_t unseen_divide(void) {
    return (pid_t)raw(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
}

/* The child waits for nothing after what it wrote: it has no thread, whatever its parent has, and must
 * not believe that one lets go for it.  Its first piece shows that; a late one changes what follows. */
static void child_holds(pid_t (*divide)(void)) {
    struct pair p = pair_warm(0);
    pid_t pid = divide();
    if (pid == 0) {
        for (int round = 0; round < 3; round++) {
            put_all(&p, FIRST);
            arrives(&p, round ? 5000 : within_window());
            exchange(&p);
        }
        _exit(0);
    }
    wait_for(pid);
}

/* Held by another thread at the fork: the parent sends it, the child does not. */
static void held_by_another_thread_at_fork(void) {
    shared = pair_warm(0);
    void *thread = in_thread(put_and_stay, NULL);
    word_wait(&stage, 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(shared.ours);
        _exit(0);
    }
    wait_for(pid);
    word_set(&stage, 2);
    joined(thread);
    exchange(&shared);
}

/* Set by a child that has filled its socket. */
static uint32_t *filled;

/* No room in the kernel at the fork, bytes accepted: the child's come after them. */
static void *read_all(void *argument) {
    struct pair *p = argument;
    raw_sleep(window_ms() + 100);
    receive(p, UINT64_MAX, 1500);
    return NULL;
}

static void fork_with_a_full_socket(void) {
    struct pair p = pair_warm(SMALL_BUFFERS);
    fcntl(p.ours, F_SETFL, O_NONBLOCK);
    overfill(&p);
    fcntl(p.ours, F_SETFL, 0);
    struct pair theirs = {.ours = -1, .theirs = p.theirs, .received = p.received};
    void *thread = in_thread(read_all, &theirs);
    pid_t pid = fork();
    if (pid == 0) {
        child_puts(&p, SECOND);
        p.put += SECOND;
        child_puts(&p, THIRD);
        _exit(0);
    }
    wait_for(pid);
    p.put += SECOND + THIRD;
    put_all(&p, FIRST);
    joined(thread);
    receive(&theirs, p.put, 10000);
    CHECK(theirs.received == p.put, "%llu accepted, %llu arrived", (unsigned long long)p.put,
          (unsigned long long)theirs.received);
}

/* ---- other programs -------------------------------------------------- */

/* sh writes the next bytes of the stream to the inherited descriptor. */
static const char *shell_line(const struct pair *p, size_t bytes) {
    static char line[400];
    snprintf(line, sizeof(line), "printf %%s '%.*s' >&%d", (int)bytes, content(p->put), p->ours);
    return line;
}

static void by_system(struct pair *p) {
    CHECK(system(shell_line(p, SECOND)) == 0, "system");
}

static void by_popen(struct pair *p) {
    FILE *stream = popen(shell_line(p, SECOND), "r");
    char byte;
    CHECK(stream, "popen: %s", strerror(errno));
    while (raw(SYS_read, fileno(stream), (long)&byte, 1, 0, 0, 0) > 0)
        ; /* until it has written: pclose would let go */
    CHECK(pclose(stream) == 0, "pclose");
}

static void by_spawn(struct pair *p) {
    char *words[] = {(char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c",
                     (char *)(uintptr_t)shell_line(p, SECOND), NULL};
    pid_t pid;
    CHECK(posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ) == 0, "posix_spawn");
    wait_for(pid);
}

static void by_vfork(struct pair *p) {
    const char *line = shell_line(p, SECOND);
    pid_t pid = vfork();
    if (pid == 0) {
        close(0); /* touches nothing of the parent's */
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    wait_for(pid);
}

static void by_fork_and_exec(struct pair *p) {
    const char *line = shell_line(p, SECOND);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    wait_for(pid);
}

static void programs_write_after_a_hold(void) {
    static void (*const ways[])(struct pair *) = {by_system, by_popen, by_spawn, by_vfork, by_fork_and_exec};
    struct pair p = pair_warm(0);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        put_all(&p, FIRST);
        ways[i](&p);
        p.put += SECOND;
        put_all(&p, THIRD);
        exchange(&p);
    }
    close(p.ours);
    ends(&p, 300);
}

static void *read_all_once_filled(void *argument) {
    for (int i = 0; i < 10000 && !__atomic_load_n(filled, __ATOMIC_ACQUIRE); i++)
        raw_sleep(1);
    return read_all(argument);
}

/* The process itself becomes another program. */
static void exec_inherits(int options) {
    struct pair p = pair_make(options);
    struct pair theirs = {.ours = -1, .theirs = p.theirs};
    void *thread = NULL;
    filled = mmap(NULL, sizeof(*filled), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(filled != MAP_FAILED, "mmap");
    exchange(&p);
    exchange(&p);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 3; i++) {
            put_all(&p, FIRST);
            usleep(1000);
        }
        if (options) {
            fcntl(p.ours, F_SETFL, O_NONBLOCK);
            overfill(&p);
            fcntl(p.ours, F_SETFL, 0);
        } else {
            put_all(&p, FIRST);
        }
        __atomic_store_n(filled, 1, __ATOMIC_RELEASE);
        execl("/bin/sh", "sh", "-c", shell_line(&p, SECOND), (char *)NULL);
        _exit(127);
    }
    theirs.received = p.received;
    thread = in_thread(read_all_once_filled, &theirs);
    wait_for(pid);
    joined(thread);
    if (!options)
        receive(&theirs, p.put + 4 * FIRST + SECOND, 10000);
    CHECK(options || theirs.received == p.put + 4 * FIRST + SECOND, "%llu bytes arrived",
          (unsigned long long)theirs.received);
    CHECK(theirs.received > p.put, "nothing arrived");
}

/* What was accepted arrives before what the new program writes: no byte is missing between. */
static void exec_with_a_full_socket(void) {
    exec_inherits(SMALL_BUFFERS);
}

static bool is_held_now(struct pair *p) {
    char byte;
    put_all(p, FIRST);
    bool held = raw(SYS_recvfrom, p->theirs, (long)&byte, 1, MSG_PEEK | MSG_DONTWAIT, 0, 0) == -EAGAIN;
    put_all(p, THIRD);
    exchange(p);
    return held;
}

/* The vfork child closes and ends: the parent's descriptor lives, with what it holds, and it goes on
 * holding. */
static void vfork_child_closes(void) {
    struct pair p = pair_warm(0);
    bool holds = false;
    for (int round = 0; round < 3; round++) {
        int fd = p.ours;
        put_all(&p, FIRST);
        pid_t pid = vfork();
        if (pid == 0) {
            close(fd);
            if (round == 1)
                execl("/does/not/exist", "x", (char *)NULL);
            else if (round == 2)
                execl("/bin/true", "true", (char *)NULL);
            _exit(0);
        }
        put_all(&p, SECOND);
        wait_for(pid);
        put_all(&p, THIRD);
        exchange(&p);
    }
    for (int tries = 0; tries < 5 && !holds; tries++) /* a busy machine may take a window's time for it */
        holds = is_held_now(&p);
    CHECK(holds || !(mode_is("cork") || mode_is("coalesce")), "nothing is held after vfork");
}

/* ---- other processes get the descriptor ------------------------------ */

/* Another process takes the descriptor by pidfd_getfd, once told so through a pipe. */
static void taken_by_pidfd(void) {
    struct pair p = pair_warm(0);
    int told[2];
    char byte = 'g';
    CHECK(pipe(told) == 0, "pipe");
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        raw(SYS_close, p.ours, 0, 0, 0, 0, 0);
        raw(SYS_read, told[0], (long)&byte, 1, 0, 0, 0);
        long process = raw(SYS_pidfd_open, parent, 0, 0, 0, 0, 0);
        long fd = raw(SYS_pidfd_getfd, process, p.ours, 0, 0, 0, 0);
        uint64_t at = p.put + FIRST;
        raw(SYS_exit_group,
            fd < 0 ? 2 : raw(SYS_write, fd, (long)content(at), SECOND, 0, 0, 0) != SECOND, 0, 0, 0,
            0, 0);
    }
    put_all(&p, FIRST);
    CHECK(write(told[1], &byte, 1) == 1, "pipe");
    int status = 0;
    while (raw(SYS_wait4, pid, (long)&status, 0, 0, 0, 0) == -EINTR)
        ;
    if (WEXITSTATUS(status) == 2)
        return; /* not allowed here */
    CHECK(status == 0, "the other process ended with %x", (unsigned)status);
    p.put += SECOND;
    put_all(&p, THIRD);
    exchange(&p);
}

CASE("held at fork", fork_while_holding(fork))
CASE("held at _Fork", fork_while_holding(_Fork))
CASE("held at an unseen fork", unseen_fork())
CASE("the parent leaves, holding", parent_leaves())
CASE("the child ends at once", child_ends_at_once())
CASE("a child of fork holds", child_holds(fork))
CASE("a child of _Fork holds", child_holds(_Fork))
CASE("a child of an unseen fork holds", child_holds(unseen_divide))
CASE("held by another thread at fork", held_by_another_thread_at_fork())
CASE("fork with a full socket", fork_with_a_full_socket())
CASE("programs write after a hold", programs_write_after_a_hold())
CASE("exec after a hold", exec_inherits(0))
CASE("exec with a full socket", exec_with_a_full_socket())
CASE("a vfork child closes", vfork_child_closes())
CASE("taken by another process", taken_by_pidfd())
