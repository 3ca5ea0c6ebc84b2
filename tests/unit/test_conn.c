/* SPDX-License-Identifier: MIT
 *
 * The lock of a connection, and its repair in the child of a fork.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "config.h"
#include "conn.h"
#include "conn_check.h"
#include "fds.h"
#include "coalesce_buffer.h"
#include "spin.h"
#include "unit.h"

static struct conn shared;

Test(conn, lock_and_trylock) {
    conn_lock(&shared);
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
    spin_lock(&list);
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
        conn_lock(&shared);
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
    conn_lock(&shared);
    guarded = 1;
    conn_unlock(&shared);
    return NULL;
}

/* A waiter that sleeps in the kernel is woken. */
Test(conn, a_sleeping_waiter_is_woken, .timeout = 10) {
    pthread_t thread;
    conn_lock(&shared);
    ASSERT(pthread_create(&thread, NULL, wait_for_it, NULL) == 0);
    while ((LOAD(&shared.lock) & 3) != 2) /* bounded by the test's time */
        sched_yield();
    conn_unlock(&shared);
    pthread_join(thread, NULL);
    EXPECT_INT("it came", guarded, 1);
}

/* In the child: a lock that a thread of the parent held is nobody's. */
Test(conn, a_lock_of_the_parents_is_repaired) {
    struct iovec one = {(char[]){"abc"}, 3};
    config_load(NULL, "prog");
    struct conn *c = fds_create(5, ORIGIN_SOCKET); /* and never unlocked */
    ASSERT(buffer_add(c, &one, 1, 3));
    c->held = c->ticking = c->draining = c->flush_blocked = true;
    c->pending_error = 32;
    c->turn_owner = &self;
    c->policy.position = 4;
    c->policy.bursty = true;
    c->counts.writes = 9;
    self.depth = 0;
    lock_forked();
    conn_lock(c);
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
    conn_lock(&shared);
    conn_unlock(&shared);
    in_a_thread(notices_the_fork);
    conn_lock(&shared); /* repairs it */
    conn_unlock(&shared);
    conn_lock(&shared);
    cr_expect(lock_is_mine(&shared.lock), "of this generation");
    in_a_thread(tries);
    cr_expect(!taken_from_us, "nobody else has it");
    conn_unlock(&shared);
}

Test(conn, fits_the_thread_local_budget) {
    cr_expect(sizeof(struct thread) <= 64, "512 bytes in all, of which others need some");
}

/* ---- what may be true at the same time ------------------------------------------ */

static struct conn *with_facts(unsigned facts) {
    struct iovec one = {(char[]){"abc"}, 3};
    config_load(NULL, "prog");
    struct conn *c = fds_create(5, ORIGIN_SOCKET);
    if (facts & IS_BUFFERED)
        ASSERT(buffer_add(c, &one, 1, 3));
    c->held = facts & IS_HELD;
    c->draining = facts & IS_DRAINING;
    c->flush_blocked = facts & IS_BLOCKED;
    c->lingering = facts & IS_LINGERING;
    return c;
}

Test(conn, fifteen_combinations_are_legal) {
    unsigned legal = 0;
    for (unsigned facts = 0; facts < 2 * IS_LINGERING; facts++) {
        struct conn *c = with_facts(facts);
        EXPECT_INT("as set", conn_facts(c), facts);
        bool buffered = facts & IS_BUFFERED, sending = facts & (IS_DRAINING | IS_BLOCKED);
        bool wanted = (buffered || !sending) && !(facts & IS_HELD && facts & IS_LINGERING);
        cr_expect(conn_is_legal(c) == wanted, "facts %u", facts);
        legal += conn_is_legal(c);
        conn_reset(c, 5, ORIGIN_SOCKET);
        conn_unlock(c);
    }
    EXPECT_INT("legal", legal, ARRAY_SIZE(conn_legal));
}

Test(conn, nothing_is_true_of_a_free_place) {
    struct conn *c = with_facts(IS_HELD);
    EXPECT(conn_is_legal(c));
    c->refs = 0;
    EXPECT(!conn_is_legal(c));
}

Test(conn, an_unlock_finds_what_is_illegal, .signal = SIGILL) {
    conn_unlock(with_facts(IS_DRAINING));
}

Test(conn, an_unlock_leaves_what_is_legal) {
    conn_unlock(with_facts(IS_BUFFERED | IS_DRAINING));
}
