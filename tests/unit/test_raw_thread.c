/* SPDX-License-Identifier: MIT
 *
 * The window's thread as clone(2) makes it, and, built a second time with BY_LIBC, as libc does where a
 * sanitizer must know it: that program passes for one of a sanitizer that this processor does not have.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "clock.h"
#include "filter.h"
#include "lock.h"
#include "raw.h"
#include "raw_thread.h"
#include "real.h"
#include "unit.h"

#if !BY_LIBC
#define OF_THREAD(...) Test(raw_thread, __VA_ARGS__, .timeout = 20)
#elif defined(__aarch64__) /* it may have that sanitizer */
#define OF_THREAD(...) Test(raw_thread_by_libc, __VA_ARGS__, .disabled = true)
#else
#define OF_THREAD(...) Test(raw_thread_by_libc, __VA_ARGS__, .timeout = 20)
void __hwasan_init(void);
void __hwasan_init(void) {}
#endif

static struct raw_thread thread;
static uint32_t runs_now, may_end, runs, fresh, stack_is_ours;
static uint64_t blocked;

static void lives(void) {
    static const struct thread none;
    char here;
    fresh += memcmp(&self, &none, sizeof(self)) == 0 && errno == 0;
    stack_is_ours += &here > thread.memory && &here < (const char *)thread.storage;
    raw4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, RAW_SIGSET);
    memset(&self, 0x5a, sizeof(self));
    errno = 4711;
    __atomic_add_fetch(&runs, 1, __ATOMIC_SEQ_CST);
    STORE(&runs_now, 1u);
    while (!LOAD(&may_end))
        raw_sleep(1000000);
    memset(&self, 0, sizeof(self)); /* libc's own end of a thread uses it */
    STORE(&runs_now, 0u);
}

static void until(const uint32_t *word, uint32_t value) {
    for (int i = 0; i < 5000 && LOAD(word) != value; i++)
        usleep(1000);
    ASSERT(LOAD(word) == value);
}

static void start(void) {
    STORE(&may_end, 0u);
    errno = 1234;
    EXPECT_INT("started", raw_thread_start(&thread, lives), 0);
    EXPECT_INT("errno", errno, 1234);
    until(&runs_now, 1);
}

static void join(void) {
    STORE(&may_end, 1u);
    raw_thread_join(&thread);
    EXPECT(thread.id == 0 && thread.known_id == 0);
}

static uint64_t blocked_here(void) {
    uint64_t mask = 0;
    raw4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, RAW_SIGSET);
    return mask;
}

/* The signals from 32 to below SIGRTMIN are libc's: setuid(2) hangs where a thread of libc blocks the one by
 * which libc tells all of them.  Signal 34, the application's first with glibc, once killed a program that
 * had blocked it in its own threads. */
static uint64_t wanted_mask(void) {
    uint64_t all = ~(UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1));
    for (int i = 32; BY_LIBC && i < SIGRTMIN; i++)
        all &= ~(UINT64_C(1) << (i - 1));
    return all;
}

/* Each start finds the thread-locals of a new thread; a join wakes at once, and leaves no task, except one
 * that gets no processor for 100 ms. */
OF_THREAD(it_runs_and_ends) {
    enum { STARTS = 10 };
    uint64_t mask = blocked_here(), least = UINT64_MAX;
    int gone = 0;
    for (int i = 0; i < STARTS; i++) {
        if (i == STARTS / 2) /* the memory is locked: mlockall(2) */
            filter_fails(SYS_madvise, 2, MADV_DONTNEED, EINVAL);
        start();
        int id = thread.id;
        EXPECT(id > 0 && id == thread.known_id && id != getpid());
        EXPECT_INT("a task of ours", syscall(SYS_tgkill, getpid(), id, 0), 0);
        uint64_t begun = clock_now();
        join();
        least = clock_now() - begun < least ? clock_now() - begun : least;
        gone += syscall(SYS_tgkill, getpid(), id, 0) != 0;
        EXPECT_INT("runs", runs, i + 1);
        EXPECT_INT("its signals", blocked, wanted_mask());
    }
    EXPECT_INT("here as before", blocked_here(), mask);
    EXPECT_INT("fresh", fresh, STARTS);
    EXPECT_INT("stack", stack_is_ours, BY_LIBC ? 0 : STARTS);
    cr_expect(gone >= STARTS - 1, "%d had gone", gone);
    cr_expect(least < 40000000, "the quickest of ten took %d us", (int)(least / 1000));
}

static int refuses(void) {
    errno = EAGAIN;
    return BY_LIBC ? EAGAIN : -1;
}

/* The program may have a limit on tasks, or no memory: nothing is left of the attempt. */
OF_THREAD(it_is_refused) {
    void **slot = BY_LIBC ? (void **)&real_pthread_create : (void **)&real_clone;
    void *before = BY_LIBC ? (void *)(uintptr_t)REAL(pthread_create) : (void *)(uintptr_t)REAL(clone);
    uint64_t mask = blocked_here();
    *slot = (void *)(uintptr_t)refuses;
    errno = 1234;
    EXPECT_INT("refused", raw_thread_start(&thread, lives), -EAGAIN);
    EXPECT(errno == 1234 && blocked_here() == mask && thread.id == 0 && thread.known_id == 0);
    raw_thread_join(&thread);
    *slot = before;
    struct raw_thread other = {0};
    if (!BY_LIBC && filter_fails(SYS_mmap, 3, MAP_PRIVATE | MAP_ANONYMOUS, ENOMEM))
        EXPECT_INT("no memory", raw_thread_start(&other, lives), -ENOMEM);
    EXPECT_INT("runs", runs, 0);
}

/* In a child the thread is the parent's: its memory serves the child's own, except where a runtime would end
 * a child that makes a thread. A fork within a handler beneath the wait: the child does not wait. */
OF_THREAD(of_a_child) {
    start();
    join();
    const char *memory = thread.memory;
    thread.id = thread.known_id = getpid();
    raw_thread_program_creates();
    raw_thread_forked(&thread);
    EXPECT(thread.id == 0 && thread.known_id == 0 && thread.after_fork);
    if (BY_LIBC)
        EXPECT_INT("none", raw_thread_start(&thread, lives), -ENOTSUP);
    thread.after_fork = false;
    start(); /* the parent's call of pthread_create is not the child's */
    EXPECT(thread.memory == memory && runs == 2);
    join();
    thread.id = getpid();
    thread.process = getpid() + 1;
    raw_thread_join(&thread);
    EXPECT_INT("still its number", thread.id, getpid());
}

#if BY_LIBC
/* A handler that interrupts the program's pthread_create must not make libc allocate. */
OF_THREAD(not_while_the_program_makes_one) {
    raw_thread_program_creates();
    raw_thread_program_creates();
    EXPECT_INT("two", raw_thread_start(&thread, lives), -EBUSY);
    raw_thread_program_created();
    EXPECT_INT("one", raw_thread_start(&thread, lives), -EBUSY);
    raw_thread_program_created();
    start();
    join();
}
#else
/* A stack that overflows hits a page without any rights. */
OF_THREAD(below_its_stack_there_is_nothing) {
    start();
    join();
    EXPECT(raw4(SYS_rt_sigprocmask, -1, thread.memory, 0, 8) == -EFAULT);
    EXPECT(raw4(SYS_rt_sigprocmask, -1, thread.memory + 65536 - 8, 0, 8) == -EFAULT);
    EXPECT(raw4(SYS_rt_sigprocmask, -1, thread.memory + 65536, 0, 8) == -EINVAL);
}
#endif
