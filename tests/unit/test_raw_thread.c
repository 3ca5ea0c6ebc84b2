/* SPDX-License-Identifier: MIT
 *
 * A thread where a sanitizer must know it: libc makes it, detached, with the signals blocked that libc does
 * not need.  This program passes for one of such a sanitizer, of a processor that has none of it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "raw_thread.h"
#include "real.h"
#include "unit.h"

#ifndef __aarch64__
void __hwasan_init(void);
void __hwasan_init(void) {}
#define BY_LIBC
#endif

static struct raw_thread thread;
static uint32_t runs_now, may_end, runs_made;
static sigset_t blocked;

static void waits(void) {
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    __atomic_add_fetch(&runs_made, 1, __ATOMIC_SEQ_CST);
    STORE(&runs_now, 1u);
    while (!LOAD(&may_end))
        usleep(1000);
    STORE(&runs_now, 0u);
}

static void until(const uint32_t *word, uint32_t value) {
    for (int i = 0; i < 5000 && LOAD(word) != value; i++)
        usleep(1000);
    ASSERT(LOAD(word) == value);
}

static int refuses_threads(pthread_t *made, const pthread_attr_t *how, void *(*run)(void *), void *with) {
    (void)made, (void)how, (void)run, (void)with;
    return EAGAIN;
}

#ifdef BY_LIBC
TestSuite(raw_thread, .timeout = 20);
#else
TestSuite(raw_thread, .timeout = 20, .disabled = true);
#endif

/* A task whose number has been cleared, and that gets no processor for 100 ms then, is not waited for any
 * longer. */
Test(raw_thread, it_runs_and_ends) {
    enum { STARTS = 10 };
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    errno = 4711;
    int gone = 0;
    for (int i = 0; i < STARTS; i++) {
        STORE(&may_end, 0u);
        EXPECT_INT("started", raw_thread_start(&thread, waits), 0);
        EXPECT_INT("errno", errno, 4711);
        until(&runs_now, 1);
        int id = thread.id;
        EXPECT(id > 0 && id == thread.known_id && id != getpid());
        EXPECT_INT("a thread of ours", syscall(SYS_tgkill, getpid(), id, 0), 0);
        STORE(&may_end, 1u);
        raw_thread_join(&thread);
        gone += syscall(SYS_tgkill, getpid(), id, 0) != 0;
        errno = 4711;
        EXPECT_INT("nobody", thread.id, 0);
        EXPECT_INT("nobody to wait for", thread.known_id, 0);
        EXPECT_INT("runs", runs_made, i + 1);
    }
    cr_expect(gone >= STARTS - 1, "%d had gone", gone);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int i = 1; i < 32; i++) {
        cr_expect(sigismember(&before, i) == sigismember(&after, i), "signal %d here", i);
        if (i != SIGKILL && i != SIGSTOP)
            cr_expect(sigismember(&blocked, i) == 1, "signal %d there", i);
    }
    for (int i = SIGRTMIN; i <= SIGRTMAX; i++) /* libc keeps 32 to below SIGRTMIN for itself */
        cr_expect(sigismember(&blocked, i) == 1, "signal %d there", i);
}

/* It wakes a waiting thread: the wait itself would look again after 50 ms only. */
Test(raw_thread, its_end_wakes) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 10; i++) {
        STORE(&may_end, 0u);
        EXPECT_INT("started", raw_thread_start(&thread, waits), 0);
        until(&runs_now, 1);
        uint64_t begun = clock_now();
        STORE(&may_end, 1u);
        raw_thread_join(&thread);
        uint64_t took = clock_now() - begun;
        least = took < least ? took : least;
    }
    cr_expect(least < 40000000, "the quickest of ten took %d us", (int)(least / 1000));
}

/* setuid(2) hangs where a thread blocks the signal by which libc tells all of them.  The application's first
 * one, 34 with glibc, was open, too, and killed the program that had blocked it in its own threads. */
Test(raw_thread, libcs_own_signals_and_no_other_reach_it) {
    static const char field[] = "\nSigBlk:\t";
    static char status[4096];
    char path[64];
    EXPECT_INT("started", raw_thread_start(&thread, waits), 0);
    until(&runs_now, 1);
    snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread.known_id);
    ASSERT(unit_read(path, status, sizeof(status)));
    const char *at = strstr(status, field);
    ASSERT(at);
    unsigned long long mask = strtoull(at + sizeof(field) - 1, NULL, 16);
    for (int i = 32; i <= SIGRTMAX; i++)
        cr_expect((mask >> (i - 1) & 1) == (i >= SIGRTMIN), "signal %d", i);
#ifdef __GLIBC__
    EXPECT_INT("34", mask >> 33 & 1, 1);
#endif
    STORE(&may_end, 1u);
    raw_thread_join(&thread);
}

/* The next one waits until the one before has left. */
Test(raw_thread, the_next_start_waits) {
    EXPECT_INT("started", raw_thread_start(&thread, waits), 0);
    until(&runs_now, 1);
    STORE(&may_end, 1u);
    EXPECT_INT("again", raw_thread_start(&thread, waits), 0);
    raw_thread_join(&thread);
    EXPECT_INT("runs", runs_made, 2);
}

/* A handler that interrupts the program's pthread_create must not make libc allocate. */
Test(raw_thread, not_while_the_program_makes_one) {
    STORE(&may_end, 1u);
    pthread_create_begins();
    pthread_create_begins();
    EXPECT_INT("two", raw_thread_start(&thread, waits), -EBUSY);
    pthread_create_ends();
    EXPECT_INT("one", raw_thread_start(&thread, waits), -EBUSY);
    EXPECT_INT("none was made", thread.id, 0);
    pthread_create_ends();
    EXPECT_INT("none", raw_thread_start(&thread, waits), 0);
    raw_thread_join(&thread);
    EXPECT_INT("runs", runs_made, 1);
}

Test(raw_thread, libc_refuses) {
    STORE(&may_end, 1u);
    void *before = real_pthread_create;
    real_pthread_create = (void *)(uintptr_t)refuses_threads;
    EXPECT_INT("refused", raw_thread_start(&thread, waits), -EAGAIN);
    EXPECT_INT("nobody", thread.id, 0);
    real_pthread_create = before;
    EXPECT_INT("not refused", raw_thread_start(&thread, waits), 0);
    raw_thread_join(&thread);
    EXPECT_INT("runs", runs_made, 1);
}

/* The thread is the parent's, and a child's own would end it: a runtime does not allow that. */
Test(raw_thread, a_child_makes_none) {
    EXPECT_INT("started", raw_thread_start(&thread, waits), 0);
    until(&runs_now, 1);
    pthread_create_begins();
    raw_thread_forked(&thread);
    EXPECT_INT("nobody", thread.id, 0);
    EXPECT_INT("nobody to wait for", thread.known_id, 0);
    errno = 4711;
    EXPECT_INT("none", raw_thread_start(&thread, waits), -ENOTSUP);
    EXPECT_INT("errno", errno, 4711);
    thread.after_fork = false;
    STORE(&may_end, 1u);
    until(&runs_now, 0);
    EXPECT_INT("the parent's call is not the child's", raw_thread_start(&thread, waits), 0);
    raw_thread_join(&thread);
}

/* A fork within a handler beneath the wait: the child returns into it, and does not wait. */
Test(raw_thread, a_child_waits_for_nobody) {
    thread.id = getpid();
    thread.known_id = 0;
    thread.process = getpid() + 1;
    raw_thread_join(&thread);
    EXPECT_INT("still its number", thread.id, getpid());
}
