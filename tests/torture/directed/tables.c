/* SPDX-License-Identifier: MIT
 *
 * Tasks that share memory and no descriptors, or descriptors and no memory: a number is another
 * connection for each, and what one of them closes the other still has.
 */
#include "directed.h"

#include <linux/close_range.h>
#include <netinet/tcp.h>
#include <sched.h>

enum { FIRST = 120, SECOND = 90, STACK = 256 * 1024, BEYOND = 900000 };

static char *new_stack(void) {
    char *low = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(low != MAP_FAILED, "no memory");
    return low + STACK;
}

/* ---- a descriptor table of one's own ------------------------------------ */

static long by_unshare(void) {
    return unshare(CLONE_FILES);
}

static long by_syscall_unshare(void) {
    return syscall(SYS_unshare, CLONE_FILES);
}

static long by_close_range(void) {
    return close_range(BEYOND, BEYOND, CLOSE_RANGE_UNSHARE);
}

static long by_syscall_close_range(void) {
    return syscall(SYS_close_range, BEYOND, BEYOND, CLOSE_RANGE_UNSHARE);
}

/* Neither lost nor forgotten: without a window the kernel holds for 200 ms. */
static void held_then_exchanged(struct pair *p) {
    put_all(p, FIRST);
    arrives(p, within_window());
    exchange(p);
}

/* The process has one thread: its table stays the only one, and a close is an end. */
static void alone(long (*own_table)(void)) {
    struct pair p = pair_warm(0);
    put_all(&p, FIRST);
    CHECK(own_table() == 0, "%s", strerror(errno));
    put_all(&p, SECOND);
    exchange(&p);
    pair_ends(&p, 300);
    p = pair_warm(0);
    held_then_exchanged(&p);
    pair_ends(&p, 300);
}

/* ---- in one thread of two ------------------------------------------------- */

static struct pair mine, others;
static uint32_t stage;
static long (*own_table)(void);

static void next_stage(uint32_t now) {
    word_set(&stage, now + 1);
    word_wait(&stage, now + 1);
}

/* Closes its copies of the other connection; its own gets that number. */
static void second_table(void) {
    int theirs = mine.theirs, ours = mine.ours;
    raw(SYS_close, theirs, 0, 0, 0, 0, 0);
    raw(SYS_close, ours, 0, 0, 0, 0, 0);
    others = pair_make(0);
    CHECK(others.ours == ours, "the number is %d, not %d", others.ours, ours);
    raw_sleep(150); /* no thread of ours starts for 100 ms */
    for (int i = 0; i < 6; i++)
        exchange(&others);
    next_stage(0);
    put_all(&others, FIRST);
    next_stage(2);
    arrives(&others, within_window());
    exchange(&others);
    pair_ends(&others, 300);
}

static void *in_second_table(void *unused) {
    CHECK(own_table() == 0, "%s", strerror(errno));
    second_table();
    word_set(&stage, 5);
    return unused;
}

/* What the first thread does while the second one waits for its stage. */
static void beside_second_table(void) {
    word_wait(&stage, 0);
    put_all(&mine, FIRST);
    next_stage(1);
    exchange(&mine);
    held_then_exchanged(&mine);
    next_stage(3);
    exchange(&mine);
    pair_ends(&mine, 300);
}

static void by_a_thread(long (*way)(void)) {
    mine = pair_warm(0);
    own_table = way;
    put_all(&mine, SECOND);
    void *thread = in_thread(in_second_table, NULL);
    beside_second_table();
    joined(thread);
}

static int cloned_thread(void *unused) {
    (void)unused;
    second_table();
    word_set(&stage, 5);
    return 0;
}

static void thread_by_clone(void) {
    mine = pair_warm(0);
    put_all(&mine, SECOND);
    int flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    CHECK(clone(cloned_thread, new_stack(), flags, NULL) > 0, "clone: %s", strerror(errno));
    beside_second_table();
}

/* ---- a child on the parent's memory ----------------------------------------- */

static char *const true_words[] = {(char *)(uintptr_t)"/bin/true", NULL};

static int closes_and_executes(void *unused) {
    (void)unused;
    close(mine.ours);
    syscall(SYS_close, mine.theirs);
    execve(true_words[0], true_words, environ);
    return 127;
}

static int replaces_and_executes(void *unused) {
    (void)unused;
    dup2(STDERR_FILENO, mine.ours);
    close_range(3, ~0U, 0);
    execv(true_words[0], true_words);
    return 127;
}

static int only_executes(void *unused) {
    (void)unused;
    execv(true_words[0], true_words);
    return 127;
}

static int writes_and_ends(void *unused) {
    (void)unused;
    if (write(mine.ours, content(mine.put), SECOND) == SECOND)
        mine.put += SECOND;
    _exit(0);
}

static pid_t by_clone(int (*child)(void *), int flags) {
    return clone(child, new_stack(), flags | SIGCHLD, NULL);
}

#if defined(__x86_64__)
static int (*started)(void *);

static void start(void) {
    raw(SYS_exit_group, started(NULL), 0, 0, 0, 0, 0);
}

/* The child returns from syscall(2) on the new stack: to start(). */
static pid_t by_syscall(int (*child)(void *), int flags) {
    void (**top)(void) = (void (**)(void))(void *)new_stack() - 2; /* aligned as after a call */
    started = child;
    *top = start;
    return (pid_t)syscall(SYS_clone, (long)(flags | SIGCHLD), top, NULL, NULL, NULL);
}

static pid_t by_syscall_clone3(int (*child)(void *), int flags) {
    char *top = new_stack();
    uint64_t arguments[8] = {[0] = (uint64_t)flags, [4] = SIGCHLD, [6] = STACK - 16};
    started = child;
    *(void (**)(void))(void *)(top - 16) = start;
    arguments[5] = (uint64_t)(top - STACK);
    return (pid_t)syscall(SYS_clone3, arguments, sizeof(arguments));
}
#else
#define by_syscall        by_clone
#define by_syscall_clone3 by_clone
#endif

/* Unseen: waitpid would let go of what is held. */
static void wait_for(pid_t pid) {
    int status = -1;
    CHECK(pid > 0, "clone: %s", strerror(errno));
    while (raw(SYS_wait4, pid, (long)&status, 0, 0, 0, 0) == -EINTR)
        ;
    CHECK(status == 0, "the child ended with %x", (unsigned)status);
}

static void reads_back_zero(const struct pair *p) {
    int nodelay = -1;
    socklen_t length = sizeof(nodelay);
    CHECK(getsockopt(p->ours, IPPROTO_TCP, TCP_NODELAY, &nodelay, &length) == 0 && nodelay == 0,
          "TCP_NODELAY reads back %d", nodelay);
}

static void child_on_our_memory(pid_t (*way)(int (*)(void *), int), int flags) {
    static int (*const acts[])(void *) = {closes_and_executes, replaces_and_executes, only_executes,
                                          writes_and_ends};
    bool files = flags & CLONE_FILES;
    for (size_t i = files ? 2 : 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        mine = pair_warm(0);
        put_all(&mine, FIRST);
        wait_for(way(acts[i], flags));
        reads_back_zero(&mine);
        put_all(&mine, SECOND);
        exchange(&mine);
        held_then_exchanged(&mine);
        reads_back_zero(&mine);
        pair_ends(&mine, 300);
    }
}

/* ---- a child with our table and memory of its own ----------------------------- */

static int closes(void *unused) {
    (void)unused;
    close(mine.ours);
    _exit(0);
}

static void child_closes_for_both(void) {
    mine = pair_warm(0);
    put_all(&mine, FIRST);
    wait_for(by_clone(closes, CLONE_FILES));
    ends(&mine, 300);
    int before = mine.ours;
    mine = pair_warm(0);
    CHECK(mine.ours == before, "the number is %d, not %d", mine.ours, before);
    held_then_exchanged(&mine);
    pair_ends(&mine, 300);
}

CASE("a table of its own by unshare", alone(by_unshare))
CASE("a table of its own by syscall(SYS_unshare)", alone(by_syscall_unshare))
CASE("a table of its own by close_range", alone(by_close_range))
CASE("a table of its own by syscall(SYS_close_range)", alone(by_syscall_close_range))
CASE("a thread's own table by unshare", by_a_thread(by_unshare))
CASE("a thread's own table by syscall(SYS_unshare)", by_a_thread(by_syscall_unshare))
CASE("a thread's own table by close_range", by_a_thread(by_close_range))
CASE("a thread's own table by syscall(SYS_close_range)", by_a_thread(by_syscall_close_range))
CASE("a thread's own table by clone", thread_by_clone())
CASE("a child on our memory", child_on_our_memory(by_clone, CLONE_VM))
CASE("a child on our memory that is waited for", child_on_our_memory(by_clone, CLONE_VM | CLONE_VFORK))
CASE("a child with our memory and table", child_on_our_memory(by_clone, CLONE_VM | CLONE_FILES))
CASE("a child with our memory and table that is waited for",
     child_on_our_memory(by_clone, CLONE_VM | CLONE_FILES | CLONE_VFORK))
CASE("a child on our memory by syscall", child_on_our_memory(by_syscall, CLONE_VM))
CASE("a child with our memory and table by syscall", child_on_our_memory(by_syscall, CLONE_VM | CLONE_FILES))
CASE("a child on our memory by clone3", child_on_our_memory(by_syscall_clone3, CLONE_VM))
CASE("a child with our table alone closes for both", child_closes_for_both())
