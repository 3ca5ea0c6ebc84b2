/* SPDX-License-Identifier: MIT
 *
 * A connection's lock and its repair in the child of a fork; the table of descriptors and the pool of
 * connections, against a model.
 */
#include <pthread.h>
#include <time.h>

#include "buffered.h"
#include "chance.h"
#include "config.h"
#include "conn.h"
#include "evidence.h"
#include "fake_kernel.h"
#include "fds.h"
#include "lock.h"
#include "reentry.h"
#include "unit.h"

static void set_up(void) {
    fake_kernel_install();
    config_load((char *[]){(char[]){"UNSTALL_MODE=observe"}, NULL}, "prog");
}

TestSuite(conn, .init = set_up, .timeout = 30);

/* ---- its lock ----------------------------------------------------------- */

static struct conn shared;

enum { THREADS = 4, ROUNDS = 20000 };
static volatile long guarded;

static void *add(void *rounds) {
    for (long i = 0; i < (long)rounds; i++) {
        ASSERT(conn_lock(&shared));
        guarded = guarded + 1;
        conn_unlock(&shared);
    }
    return NULL;
}

/* A waiter that sleeps in the kernel is woken. */
Test(conn, threads_take_turns) {
    pthread_t threads[THREADS];
    ASSERT(conn_lock(&shared));
    for (int i = 0; i < THREADS; i++)
        ASSERT(pthread_create(&threads[i], NULL, add, (void *)ROUNDS) == 0);
    while ((LOAD(&shared.lock) & 3) != 2) /* bounded by the test's time */
        sched_yield();
    conn_unlock(&shared);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    EXPECT_INT("all of them", guarded, THREADS * ROUNDS);
    EXPECT_INT("free again", shared.lock & 3, 0);
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
    return NULL;
}

static void in_a_thread(void *(*run)(void *)) {
    pthread_t thread;
    ASSERT(pthread_create(&thread, NULL, run, NULL) == 0);
    pthread_join(thread, NULL);
}

/* After a fork that passed by the library, the first call may come from a new thread of the child. */
Test(conn, another_thread_notices_the_fork) {
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

/* ---- its repair --------------------------------------------------------- */

/* In the child of a fork: a lock that a thread of the parent held is free, what was begun does not go on,
 * what was buffered is the parent's to send, and what was learned stays. */
Test(conn, nothing_of_the_parents_goes_on_in_the_child) {
    static struct piece piece;
    for (int tries_it = 0; tries_it < 2; tries_it++) {
        struct conn *c = fds_create(5, ORIGIN_ACCEPTED); /* and never unlocked */
        ASSERT(unit_buffer(c, "abc") && evidence_begin(c));
        evidence_add(c->evidence, COUNT_SMALL_WRITES, 3);
        c->evidence->suspect = true;
        c->held = c->ticking = c->draining = c->flush_blocked = true;
        c->pending_error = 32;
        c->turn_owner = &self;
        c->turn_end = TURN_ENDED_UNLOCKED;
        c->aside = (uintptr_t)&piece;
        c->policy = (struct policy){.position = 4, .bursty = true, .untracked_io = true, .quick_turns = 9};
        c->counts.writes = 9;
        self.depth = 0;
        lock_forked();
        ASSERT(tries_it ? conn_trylock(c) : conn_lock(c));
        EXPECT(!c->held && !c->ticking && !c->draining && !c->flush_blocked && !c->aside);
        EXPECT(!c->next_ticking && !c->turn_owner && !c->pending_error && c->turn_end == TURN_ENDS);
        EXPECT_INT("buffered", buffer_length(c), 0);
        EXPECT(c->counts.writes == 0 && !c->evidence->suspect);
        EXPECT(evidence_add(c->evidence, COUNT_SMALL_WRITES, 0) == 0);
        EXPECT(c->shared && c->origin == ORIGIN_FOREIGN && c->untracked_at_fork);
        EXPECT(c->policy.position == 0 && c->policy.quick_turns == 0 && c->policy.never_buffer);
        EXPECT(c->policy.bursty && c->policy.untracked_io && c->fd == 5 && c->refs == 1);
        conn_unlock(c);
        EXPECT_INT("free in this generation", c->lock, lock_free_now);
    }
}

/* classify.c tries the lock of the newest connection, which may have ended before a fork.  The repair in the
 * child stored NULL into its link, which had the memory of `turn_owner`: the child lost all free connections
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
        struct conn *again = fds_create(5 + i, ORIGIN_SOCKET);
        cr_expect(again == c[i], "place %d", i);
        conn_unlock(again);
    }
}

/* A connection that the parent has closed and still sends from: a copy here would keep its socket open. */
Test(conn, a_lingering_connection_is_the_parents) {
    struct conn *lingers = fds_create(300, ORIGIN_SOCKET), *other = fds_create(6, ORIGIN_SOCKET);
    ASSERT(unit_buffer(lingers, "abc"));
    lingers->lingering = true;
    conn_unlock(other);
    conn_unlock(lingers);
    lock_forked();
    int in_use = 0;
    FDS_EACH(c)
        in_use += c->fd;
    EXPECT_INT("none that this process has used", in_use, 0);
    FDS_WALK(c, .all = true)
        in_use += c == other ? 1 : 100;
    EXPECT_INT("the other alone", in_use, 1);
    EXPECT_TEXT("closed here", fake_log(), "close(300)");
    EXPECT(fds_word(300) == FDS_UNKNOWN && lingers->refs == 0 && !lingers->lingering);
}

/* The next connection in this place begins with nothing of the one before, but the window's thread may still
 * have it on its list. */
Test(conn, what_a_reset_clears_and_keeps) {
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
    EXPECT(c->fd == 9 && c->refs == 1 && c->origin == ORIGIN_ACCEPTED && c->forks == 7);
    EXPECT(!c->buffer && !c->evidence && !c->passed && !c->shared);
    EXPECT(c->counts.writes == 0 && c->epoch == 0 && c->endpoint == 0);
    EXPECT(c->ticking && c->next_ticking == next);
    conn_unlock(c);
}

Test(conn, fits_the_thread_local_budget) {
    cr_expect(sizeof(struct thread) <= 136, "512 bytes in all, of which others need some");
}

/* ---- legal combinations: the check that all tests of the core make --------- */

Test(conn, fifteen_combinations_are_legal) {
    enum { IS_HELD = 1, IS_BUFFERED = 2, IS_DRAINING = 4, IS_BLOCKED = 8, IS_LINGERING = 16 };
    int legal = 0;
    for (unsigned facts = 0; facts < 2 * IS_LINGERING; facts++) {
        struct conn *c = fds_create(5, ORIGIN_SOCKET);
        if (facts & IS_BUFFERED)
            ASSERT(unit_buffer(c, "abc"));
        c->held = facts & IS_HELD;
        c->draining = facts & IS_DRAINING;
        c->flush_blocked = facts & IS_BLOCKED;
        c->lingering = facts & IS_LINGERING;
        bool sends = facts & (IS_DRAINING | IS_BLOCKED), both = c->held && c->lingering;
        EXPECT_INT("legal", conn_is_legal(c), !both && (!sends || (facts & IS_BUFFERED)));
        legal += conn_is_legal(c);
        c->refs = 0;
        EXPECT_INT("nothing is true of a free place", conn_is_legal(c), facts == 0);
        conn_reset(c, 5, ORIGIN_SOCKET);
        conn_unlock(c);
    }
    EXPECT_INT("legal ones", legal, 15);
}

/* ---- the table and the pool --------------------------------------------- */

/* A number outside the table passes through: the library assumes that it may block. */
Test(conn, beyond_the_limit) {
    static const int descriptors[] = {-1, -2, INT32_MIN, FDS_LIMIT, FDS_LIMIT + 1, INT32_MAX};
    for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++) {
        int fd = descriptors[i];
        EXPECT_INT("word", fds_word(fd), FDS_OTHER);
        cr_expect(!fds_set(fd, FDS_FILE) && fds_create(fd, ORIGIN_SOCKET) == NULL, "%d", fd);
        EXPECT_INT("still", fds_word(fd), FDS_OTHER);
        fds_forget(fd);
    }
    EXPECT(fds_set(3000, FDS_UNKNOWN) && self.depth == 0 && fds_high() == 0 && !fds_pages[2]);
    struct conn *last = fds_create(FDS_LIMIT - 1, ORIGIN_SOCKET);
    ASSERT(last && fds_high() == FDS_LIMIT);
    fds_share(last, FDS_LIMIT);
    EXPECT_INT("a copy beyond it is not counted", last->refs, 1);
    conn_unlock(last);
    EXPECT_INT("a page without need", fds_pages[2] != NULL, false);
}

/* As a program opens, copies and closes, seen or not, with what a model says after each step. */
enum { NUMBERS = 12, STEPS = 40000, FIRST_COOKIE = 1000 };

static const int numbers[NUMBERS] = {3, 4, 5, 6, 7, 8, 100, 1023, 1024, 5000, 65535, 999999};

static struct {
    struct conn *leads[NUMBERS]; /* NULL: none, and the word is */
    uintptr_t word[NUMBERS];
    struct conn *noted[STEPS]; /* by cookie */
    uint64_t cookies;
} model = {.cookies = FIRST_COOKIE};

static unsigned refs_of(const struct conn *c) {
    unsigned refs = 0;
    for (int i = 0; i < NUMBERS; i++)
        refs += model.leads[i] == c;
    return refs;
}

static void lead(int i, struct conn *c, uintptr_t word) {
    struct conn *before = model.leads[i];
    model.leads[i] = c;
    model.word[i] = word;
    for (uint64_t n = FIRST_COOKIE; before && refs_of(before) == 0 && n < model.cookies; n++)
        model.noted[n] = model.noted[n] == before ? NULL : model.noted[n];
}

static void create(int i, bool adopts) {
    bool first = true, there = model.leads[i] != NULL;
    if (adopts && model.word[i] != FDS_UNKNOWN)
        return;
    if (!adopts)
        lead(i, NULL, FDS_UNKNOWN);
    struct conn *c = adopts ? fds_adopt(numbers[i], &first) : fds_create(numbers[i], ORIGIN_SOCKET);
    ASSERT(c && first == (!adopts || !there) && self.depth == 1);
    if (first) {
        cr_assert(refs_of(c) == 0, "one that is in use was given again");
        EXPECT(!c->policy.bursty && c->cookie == 0 && (uintptr_t)c > FDS_LAST_TAG);
        c->policy.bursty = true;
        lead(i, c, 0);
    }
    conn_unlock(c);
}

static void copy(int i, int j) {
    struct conn *c = model.leads[i];
    if (!c || i == j)
        return;
    fds_forget(numbers[j]);
    lead(j, NULL, FDS_UNKNOWN);
    ASSERT(fds_lock(numbers[i]) == c);
    fds_share(c, numbers[j]);
    fds_share(c, numbers[j]); /* two threads met it at the same time */
    conn_unlock(c);
    lead(j, c, 0);
}

static void step(void) {
    static const uintptr_t tags[] = {FDS_OTHER, FDS_FILE, FDS_NO_SOCKET, FDS_UNKNOWN};
    int i = (int)draw(NUMBERS);
    bool missed;
    switch (draw(6)) {
    case 0: create(i, draw(2)); break;
    case 1: copy(i, (int)draw(NUMBERS)); break;
    case 2:
    case 3:
        fds_forget(numbers[i]);
        lead(i, NULL, FDS_UNKNOWN);
        break;
    case 4:
        fds_forget(numbers[i]);
        lead(i, NULL, tags[draw(ARRAY_SIZE(tags))]);
        ASSERT(fds_set(numbers[i], model.word[i]));
        break;
    default:
        if (model.leads[i] && !model.leads[i]->cookie) {
            fds_note_cookie(model.leads[i], model.cookies);
            model.noted[model.cookies++] = model.leads[i];
        }
        uint64_t cookie = FIRST_COOKIE + draw((uint32_t)(model.cookies - FIRST_COOKIE + 1));
        struct conn *found = fds_find_cookie(cookie, &missed);
        ASSERT(found == model.noted[cookie]);
        if (found)
            conn_unlock(found);
    }
}

Test(conn, a_program_that_opens_copies_and_closes) {
    for (int n = 0; n < STEPS; n++) {
        unsigned in_use = 0, pointed_at = 0;
        step();
        for (int i = 0; i < NUMBERS; i++) {
            struct conn *c = model.leads[i];
            ASSERT(fds_word(numbers[i]) == (c ? (uintptr_t)c : model.word[i]));
            ASSERT(!c || (c->refs == refs_of(c) && fds_word(c->fd) == (uintptr_t)c));
            pointed_at += c && c->fd == numbers[i];
        }
        FDS_EACH(c) {
            ASSERT(refs_of(c) > 0 && lock_is_mine(&c->lock));
            in_use++;
        }
        ASSERT(in_use == pointed_at && self.depth == 0);
    }
    EXPECT(model.cookies > FIRST_COOKIE + 1000); /* many generations in few places */
}

/* Of 8000 connections that were accepted unseen, each searched all others at its first write.  Cookies are
 * consecutive, with those of other sockets in between, or come in batches of a processor. */
Test(conn, a_search_by_cookie_looks_at_few) {
    enum { FIRST = 3, MANY = 8000, MOST_NS = 2000 };
    static const uint64_t strides[] = {1, 1000, 4096};
    bool missed;
    for (size_t s = 0; s < ARRAY_SIZE(strides); s++) {
        struct timespec begun, ended;
        for (int fd = FIRST; fd < MANY; fd++) {
            struct conn *c = fds_create(fd, ORIGIN_SOCKET);
            fds_note_cookie(c, (uint64_t)fd * strides[s]);
            conn_unlock(c);
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
        for (int fd = FIRST; fd < 2 * MANY; fd++) {
            struct conn *c = fds_find_cookie((uint64_t)fd * strides[s], &missed);
            ASSERT(fd < MANY ? c && c->fd == fd : !c);
            if (c)
                conn_unlock(c);
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
        long ns = (ended.tv_sec - begun.tv_sec) * 1000000000 + ended.tv_nsec - begun.tv_nsec;
        cr_expect(ns / (2 * MANY) < MOST_NS, "each %d: %ld ns a search", (int)strides[s], ns / (2 * MANY));
    }
}

static long mapped_bytes(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    ASSERT(f && fscanf(f, "%ld", &pages) == 1);
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

/* One that has ended leaves its place in the lists of cookies, or a server would grow for years. */
Test(conn, an_ended_connection_keeps_no_place_for_its_cookie) {
    enum { FD = 5, EARLIER = 20000, MANY = 400000, MOST = 1 << 20 };
    long before = 0;
    for (int n = 1; n <= MANY; n++) {
        if (n == EARLIER)
            before = mapped_bytes();
        struct conn *c = fds_create(FD, ORIGIN_SOCKET);
        fds_note_cookie(c, (uint64_t)n);
        conn_unlock(c);
    }
    long grown = mapped_bytes() - before;
    cr_expect(grown < MOST, "%ld bytes more", grown);
}
