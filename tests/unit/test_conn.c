/* SPDX-License-Identifier: MIT
 *
 * The lock of a connection, and its repair in the child of a fork.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "conn.h"
#include "fds.h"
#include "buffered.h"
#include "evidence.h"
#include "fake_kernel.h"
#include "reentry.h"
#include "lock.h"
#include "unit.h"

static struct conn shared;

Test(conn, lock_and_trylock) {
    ASSERT(conn_lock(&shared));
    EXPECT_INT("depth", self.depth, 1);
    cr_expect(!conn_trylock(&shared), "taken");
    EXPECT_INT("depth", self.depth, 1);
    conn_unlock(&shared);
    cr_expect(conn_trylock(&shared), "free");
    conn_unlock(&shared);
    EXPECT_INT("depth", self.depth, 0);
}

Test(conn, a_short_lock_that_is_taken) {
    static uint32_t list;
    ASSERT(spin_lock(&list));
    cr_expect(!spin_trylock(&list), "taken");
    EXPECT_INT("depth", self.depth, 1);
    spin_unlock(&list);
    cr_expect(spin_trylock(&list), "free");
    EXPECT(self.depth == 1 && self.spinning == &list);
    spin_unlock(&list);
    EXPECT(self.depth == 0 && !self.spinning);
}

enum { THREADS = 4, ROUNDS = 20000 };
static long guarded;

static void *add(void *unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        ASSERT(conn_lock(&shared));
        long seen = *(volatile long *)&guarded;
        if (i % 64 == 0)
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
        *(volatile long *)&guarded = seen + 1;
        conn_unlock(&shared);
    }
    return NULL;
}

Test(conn, threads_take_turns, .timeout = 30) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ASSERT(pthread_create(&threads[i], NULL, add, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    EXPECT_INT("all of them", guarded, THREADS * ROUNDS);
    EXPECT_INT("free again", shared.lock & 3, 0);
}

static void *wait_for_it(void *unused) {
    (void)unused;
    ASSERT(conn_lock(&shared));
    guarded = 1;
    conn_unlock(&shared);
    return NULL;
}

/* A waiter that sleeps in the kernel is woken. */
Test(conn, a_sleeping_waiter_is_woken, .timeout = 10) {
    pthread_t thread;
    ASSERT(conn_lock(&shared));
    ASSERT(pthread_create(&thread, NULL, wait_for_it, NULL) == 0);
    while ((LOAD(&shared.lock) & 3) != 2) /* bounded by the test's time */
        sched_yield();
    conn_unlock(&shared);
    pthread_join(thread, NULL);
    EXPECT_INT("it came", guarded, 1);
}

/* In the child: a lock that a thread of the parent held is free. */
Test(conn, a_lock_of_the_parents_is_repaired) {
    config_load(NULL, "prog");
    struct conn *c = fds_create(5, ORIGIN_SOCKET); /* and never unlocked */
    ASSERT(unit_buffer(c, "abc"));
    c->held = c->ticking = c->draining = c->flush_blocked = true;
    c->pending_error = 32;
    c->turn_owner = &self;
    c->policy.position = 4;
    c->policy.bursty = true;
    c->counts.writes = 9;
    self.depth = 0;
    lock_forked();
    ASSERT(conn_lock(c));
    EXPECT(!c->held && !c->ticking && !c->draining && !c->flush_blocked);
    EXPECT(c->next_ticking == NULL && c->turn_owner == NULL && c->pending_error == 0);
    EXPECT_INT("what was buffered is the parent's to send", buffer_length(c), 0);
    EXPECT_INT("position", c->policy.position, 0);
    EXPECT_INT("counts start at zero", c->counts.writes, 0);
    EXPECT_INT("origin", c->origin, ORIGIN_FOREIGN);
    EXPECT(c->shared);
    cr_expect(c->policy.bursty, "what was learnt stays");
    EXPECT_INT("still the same", c->fd, 5);
    conn_unlock(c);
    EXPECT_INT("free in this generation", c->lock, lock_free_word());
    EXPECT(conn_trylock(c));
    conn_unlock(c);
}

Test(conn, trylock_repairs_too) {
    struct conn *c = fds_create(5, ORIGIN_SOCKET);
    c->held = true;
    conn_unlock(c);
    lock_forked();
    EXPECT(conn_trylock(c));
    EXPECT(!c->held);
    conn_unlock(c);
    EXPECT_INT("depth", self.depth, 0);
}

/* A forked child drops all other work that threads and handlers of the parent had begun. */
Test(conn, nothing_that_was_begun_goes_on_in_the_child) {
    struct piece piece = {0};
    struct thread others;
    config_load((char *[]){(char[]){"UNSTALL_MODE=observe"}, NULL}, "prog");
    struct conn *c = fds_create(5, ORIGIN_ACCEPTED);
    ASSERT(evidence_begin(c));
    c->evidence->small_writes = 3;
    c->evidence->suspect = true;
    c->policy.untracked_io = true;
    c->policy.quick_turns = 9;
    conn_unlock(c);
    c->aside = (uintptr_t)&piece;
    c->turn_owner = &others;
    c->turn_end = TURN_LEFT;
    lock_forked();
    ASSERT(conn_lock(c));
    EXPECT(!c->aside && !c->turn_owner);
    EXPECT_INT("the turn", c->turn_end, TURN_ENDS);
    EXPECT_INT("a habit is proved anew", c->policy.quick_turns, 0);
    EXPECT_INT("the evidence", c->evidence->small_writes, 0);
    EXPECT(!c->evidence->suspect);
    EXPECT(c->untracked_at_fork && c->policy.untracked_io);
    EXPECT_INT("in use", c->refs, 1);
    conn_unlock(c);
}

/* rings.c tries the lock of the newest connection, which may have ended before a fork.  The repair in the
 * child stored NULL into its link, which has the memory of `turn_owner`: the child lost all free connections
 * behind it. */
Test(conn, a_repair_leaves_the_list_of_free_ones_whole) {
    struct conn *c[3];
    for (int i = 0; i < 3; i++) {
        c[i] = fds_create(5 + i, ORIGIN_SOCKET);
        conn_unlock(c[i]);
    }
    for (int i = 0; i < 3; i++)
        fds_forget(5 + i);
    lock_forked();
    ASSERT(conn_trylock(c[2]));
    conn_unlock(c[2]);
    for (int i = 2; i >= 0; i--) {
        struct conn *again = fds_create(5, ORIGIN_SOCKET);
        cr_expect(again == c[i], "place %d", i);
        fds_share(again, 50 + i);
        conn_unlock(again);
    }
}

/* A connection that the parent has closed and still sends from: a copy here would keep its socket open. */
Test(conn, a_lingering_connection_is_the_parents) {
    fake_kernel_install();
    config_load(NULL, "prog");
    struct conn *lingers = fds_create(300, ORIGIN_SOCKET), *other = fds_create(6, ORIGIN_SOCKET);
    ASSERT(unit_buffer(lingers, "abc"));
    lingers->lingering = true;
    conn_unlock(other);
    conn_unlock(lingers);
    lock_forked();
    int in_use = 0;
    FDS_EACH(c)
        in_use += c == other ? 1 : 100;
    EXPECT_INT("the other alone", in_use, 1);
    EXPECT_TEXT("closed here", fake_log(), "close(300)");
    EXPECT_INT("its number", fds_word(300), FDS_UNKNOWN);
    EXPECT(lingers->refs == 0 && !lingers->lingering);
}

/* The next connection in this place begins with nothing of the one before. */
Test(conn, what_a_reset_clears_and_keeps) {
    config_load((char *[]){(char[]){"UNSTALL_MODE=observe"}, NULL}, "prog");
    struct conn *c = fds_create(5, ORIGIN_SOCKET), *next = fds_create(6, ORIGIN_SOCKET);
    conn_unlock(next);
    uint16_t generation = c->generation;
    ASSERT(unit_buffer(c, "abc") && evidence_begin(c));
    forks_made = 7;
    c->ticking = true;
    c->next_ticking = next;
    c->passed = c->shared = true;
    c->counts.writes = c->epoch = c->endpoint = 1;
    conn_reset(c, 9, ORIGIN_ACCEPTED);
    EXPECT_INT("another one", c->generation, generation + 1);
    EXPECT_INT("fd", c->fd, 9);
    EXPECT_INT("refs", c->refs, 1);
    EXPECT_INT("origin", c->origin, ORIGIN_ACCEPTED);
    EXPECT_INT("forks", c->forks, 7);
    EXPECT(!c->buffer && !c->evidence && !c->passed && !c->shared);
    EXPECT(c->counts.writes == 0 && c->epoch == 0 && c->endpoint == 0);
    EXPECT(c->ticking && c->next_ticking == next); /* the window's thread has it still */
    conn_unlock(c);
}

static bool taken_from_us;

static void *notices_the_fork(void *unused) {
    (void)unused;
    lock_forked();
    return NULL;
}

static void *tries(void *unused) {
    (void)unused;
    taken_from_us = conn_trylock(&shared);
    if (taken_from_us)
        conn_unlock(&shared);
    return NULL;
}

static void in_a_thread(void *(*run)(void *)) {
    pthread_t thread;
    ASSERT(pthread_create(&thread, NULL, run, NULL) == 0);
    pthread_join(thread, NULL);
}

/* After a fork that passed by the library, the first call may come from a new thread of the child. */
Test(conn, another_thread_notices_the_fork, .timeout = 10) {
    ASSERT(conn_lock(&shared));
    conn_unlock(&shared);
    in_a_thread(notices_the_fork);
    ASSERT(conn_lock(&shared)); /* repairs it */
    conn_unlock(&shared);
    ASSERT(conn_lock(&shared));
    cr_expect(lock_is_mine(&shared.lock), "of this generation");
    in_a_thread(tries);
    cr_expect(!taken_from_us, "nobody else has it");
    conn_unlock(&shared);
}

Test(conn, fits_the_thread_local_budget) {
    cr_expect(sizeof(struct thread) <= 136, "512 bytes in all, of which others need some");
}

/* ---- legal combinations ------------------------------------------ */

enum { IS_HELD = 1, IS_BUFFERED = 2, IS_DRAINING = 4, IS_BLOCKED = 8, IS_LINGERING = 16 };

static struct conn *with_facts(unsigned facts) {
    config_load(NULL, "prog");
    struct conn *c = fds_create(5, ORIGIN_SOCKET);
    if (facts & IS_BUFFERED)
        ASSERT(unit_buffer(c, "abc"));
    c->held = facts & IS_HELD;
    c->draining = facts & IS_DRAINING;
    c->flush_blocked = facts & IS_BLOCKED;
    c->lingering = facts & IS_LINGERING;
    return c;
}

Test(conn, fifteen_combinations_are_legal) {
    static const unsigned all[] = {0, 1, 2, 2 | 4, 2 | 8, 2 | 4 | 8, 1 | 2, 1 | 2 | 4, 1 | 2 | 8,
                                   1 | 2 | 4 | 8, 16, 16 | 2, 16 | 2 | 4, 16 | 2 | 8, 16 | 2 | 4 | 8};
    for (unsigned facts = 0; facts < 2 * IS_LINGERING; facts++) {
        struct conn *c = with_facts(facts);
        bool wanted = false;
        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
            wanted |= all[i] == facts;
        cr_expect(conn_is_legal(c) == wanted, "facts %u", facts);
        conn_reset(c, 5, ORIGIN_SOCKET);
        conn_unlock(c);
    }
}

Test(conn, nothing_is_true_of_a_free_place) {
    struct conn *c = with_facts(IS_HELD);
    EXPECT(conn_is_legal(c));
    c->refs = 0;
    EXPECT(!conn_is_legal(c));
}

#if defined(__aarch64__) /* the signal of __builtin_trap() */
#define TRAPS SIGTRAP
#else
#define TRAPS SIGILL
#endif

Test(conn, an_unlock_finds_what_is_illegal, .signal = TRAPS) {
    conn_unlock(with_facts(IS_DRAINING));
}

/* The illegal combination goes to the log before the process ends. */
Test(conn, what_is_illegal_is_told) {
    static char said[256];
    int ends[2], status;
    ASSERT(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        struct conn *c = with_facts(IS_DRAINING | IS_HELD);
        c->refs = 3;
        conn_unlock(c);
        _exit(0);
    }
    close(ends[1]);
    ASSERT(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    ssize_t n = read(ends[0], said, sizeof(said) - 1);
    said[n > 0 ? n : 0] = '\0';
    EXPECT_TEXT("line", said,
                "unstall: illegal state of a connection: held 1, lingering 0, buffered 0, draining 1, "
                "blocked 0, descriptors 3\n");
}

Test(conn, an_unlock_leaves_what_is_legal) {
    conn_unlock(with_facts(IS_BUFFERED | IS_DRAINING));
}
