/* SPDX-License-Identifier: MIT
 *
 * The thread that clone(2) makes: its signals, its stack and its thread-locals at each start, and the case
 * where the kernel refuses it. Also the end of a thread of the program, which may have to push.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coalesce_buffer.h"
#include "fake_kernel.h"
#include "filter.h"
#include "turn.h"
#include "raw.h"
#include "raw_thread.h"
#include "real.h"
#include "unit.h"

TestSuite(raw_start, .timeout = 20);

static struct raw_thread thread;
static uint32_t runs, fresh, errno_is_zero, stack_is_ours;
static uint64_t blocked;

static void looks_around(void) {
    static const struct thread none;
    char here;
    runs++;
    fresh += memcmp(&self, &none, sizeof(self)) == 0;
    errno_is_zero += errno == 0;
    stack_is_ours += &here > thread.memory && &here < (const char *)thread.storage;
    raw4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, RAW_SIGSET);
    memset(&self, 0x5a, sizeof(self));
    errno = 4711;
}

static void start_and_join(int times) {
    for (int i = 0; i < times; i++) {
        errno = 1234;
        EXPECT_INT("started", raw_thread_start(&thread, looks_around), 0);
        EXPECT_INT("errno", errno, 1234);
        raw_thread_join(&thread);
        EXPECT_INT("gone", thread.id, 0);
        EXPECT_INT("gone", thread.known_id, 0);
    }
}

/* Each start finds the thread-locals of a new thread, in the memory of the one before. */
Test(raw_start, thread_locals_are_new) {
    start_and_join(1);
    const char *memory = thread.memory;
    start_and_join(4);
    EXPECT(thread.memory == memory);
    EXPECT_INT("runs", runs, 5);
    EXPECT_INT("fresh", fresh, 5);
    EXPECT_INT("errno", errno_is_zero, 5);
    EXPECT_INT("stack", stack_is_ours, 5);
}

/* The memory is locked: mlockall(2). */
Test(raw_start, thread_locals_are_new_where_pages_cannot_go) {
    start_and_join(1);
    if (!filter_fails(SYS_madvise, 2, MADV_DONTNEED, EINVAL))
        cr_skip_test("no filters here");
    start_and_join(2);
    EXPECT_INT("fresh", fresh, 3);
    EXPECT_INT("errno", errno_is_zero, 3);
}

static uint64_t blocked_here(void) {
    uint64_t mask = 0;
    raw4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, RAW_SIGSET);
    return mask;
}

Test(raw_start, all_its_signals_are_blocked) {
    uint64_t before = blocked_here();
    start_and_join(1);
    EXPECT_INT("here as before", blocked_here(), before);
    uint64_t never = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1);
    EXPECT(blocked == ~never);
}

/* A stack that overflows hits a page without any rights. */
Test(raw_start, below_its_stack_there_is_nothing) {
    start_and_join(1);
    EXPECT(raw4(SYS_rt_sigprocmask, -1, thread.memory, 0, 8) == -EFAULT);
    EXPECT(raw4(SYS_rt_sigprocmask, -1, thread.memory + 65536 - 8, 0, 8) == -EFAULT);
    EXPECT(raw4(SYS_rt_sigprocmask, -1, thread.memory + 65536, 0, 8) == -EINVAL);
}

/* A handler of the program may have a limit on tasks: nothing is left of the attempt. */
static int refuses(int (*run)(void *), void *stack, int flags, void *with, ...) {
    (void)run, (void)stack, (void)flags, (void)with;
    errno = EAGAIN;
    return -1;
}

Test(raw_start, the_kernel_refuses) {
    void *before = (void *)(uintptr_t)REAL(clone);
    uint64_t mask = blocked_here();
    real_clone = (void *)(uintptr_t)refuses;
    errno = 1234;
    EXPECT_INT("refused", raw_thread_start(&thread, looks_around), -EAGAIN);
    EXPECT_INT("errno", errno, 1234);
    EXPECT_INT("as before", blocked_here(), mask);
    EXPECT_INT("nobody", thread.known_id, 0);
    raw_thread_join(&thread);
    real_clone = before;
    start_and_join(1);
    EXPECT_INT("runs", runs, 1);
}

Test(raw_start, no_memory) {
    if (!filter_fails(SYS_mmap, 3, MAP_PRIVATE | MAP_ANONYMOUS, ENOMEM))
        cr_skip_test("no filters here");
    EXPECT_INT("refused", raw_thread_start(&thread, looks_around), -ENOMEM);
    EXPECT(!thread.memory && runs == 0);
}

/* In a child the thread is the parent's: its memory serves the child's own. */
Test(raw_start, of_a_child) {
    start_and_join(1);
    const char *memory = thread.memory;
    thread.id = thread.known_id = getpid();
    raw_thread_forked(&thread);
    EXPECT(thread.id == 0 && thread.known_id == 0 && thread.after_fork);
    start_and_join(1);
    EXPECT(thread.memory == memory && runs == 2 && fresh == 2);
}

/* ---- the end of a thread of the program --------------------------------- */

static struct conn *c;

static void set_up(void) {
    c = fake_kernel_connected(MODE_CORK);
    window_now = WINDOW_RUNS;
}

static void *ends_after(void *act) {
    hold_watch_thread_end();
    EXPECT(self.ends_watched);
    ((void (*)(void))(uintptr_t)act)();
    return NULL;
}

static void in_a_thread(void (*act)(void)) {
    pthread_t of;
    ASSERT(pthread_create(&of, NULL, ends_after, (void *)(uintptr_t)act) == 0);
    pthread_join(of, NULL);
}

static void releases(void) {
    self.releasing = c; /* cancelled before the write that would have pushed */
}
static void has_a_turn(void) {
    ASSERT(conn_lock(c));
    hold_join_turn(c);
    c->held = true;
    conn_unlock(c);
}
static void has_a_lock(void) {
    ASSERT(conn_lock(c)); /* cancelled by a handler */
}
static void has_a_spare(void) {
    ASSERT(buffer_make_spare());
}
static void has_nothing(void) {}

static const struct {
    const char *name;
    void (*act)(void);
    const char *log;
} ends[] = {
    {"nothing", has_nothing, ""},
    {"a turn", has_a_turn, "nodelay(5,1)"},
    {"a release", releases, "nodelay(5,1)"},
    {"a lock", has_a_lock, ""},
    {"a spare buffer", has_a_spare, ""},
};

Test(raw_start, the_end_of_a_thread, .init = set_up) {
    EACH_ROW(row, ends) {
        in_a_thread(row->act);
        EXPECT_TEXT(row->name, fake_log(), row->log);
        EXPECT(!c->held && !c->turn_owner && conn_trylock(c));
        conn_unlock(c);
        EXPECT_INT(row->name, self.depth, 0);
    }
}

/* Its spare buffer is the next thread's. */
static const struct coalesce_buffer *spares[2];
static void notes_its_spare(void) {
    static int at;
    ASSERT(buffer_make_spare());
    spares[at++] = buffer_spare;
}

Test(raw_start, the_spare_of_a_thread_that_ended, .init = set_up) {
    in_a_thread(notes_its_spare);
    in_a_thread(notes_its_spare);
    EXPECT(spares[0] && spares[0] == spares[1]);
}

static void once_and_again(void) {
    self.ends_watched = false;
    hold_watch_thread_end();
    EXPECT(self.ends_watched);
}

Test(raw_start, readers_are_watched, .init = set_up) {
    once_and_again();
    in_a_thread(once_and_again);
}
