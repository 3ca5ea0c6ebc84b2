/* SPDX-License-Identifier: MIT
 *
 * Bytes that are held when the process divides: sent once, by who wrote them, and in order.
 */
#include "directed.h"

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
    pair_ends(&p, 300);
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
    pair_ends(&p, 300);
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

/* No room in the kernel at the fork, bytes accepted: the child's come after them. */
static void *read_all(void *argument) {
    struct pair *p = argument;
    raw_sleep(window_ms() + 100);
    receive(p, UINT64_MAX, 1500);
    return NULL;
}

static void fork_with_a_full_socket(void) {
    struct pair p = pair_overfilled(false);
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

/* ---- vfork ----------------------------------------------------------- */

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
CASE("a vfork child closes", vfork_child_closes())
