/* SPDX-License-Identifier: MIT
 *
 * Real-time priorities: a thread that waits for a lock lets its holder run, with any priorities of the two.
 * A waiter that only yielded kept the processor from a holder of lower priority until the kernel's throttling
 * took it away: 1000 ms (sched(7), sched_rt_runtime_us).
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "conn.h"
#include "lock.h"
#include "unit.h"

enum { LOWEST = 1, MOST_MS = 200 };

static struct conn connection;
static uint32_t short_lock;

static void lock_connection(void) {
    ASSERT(conn_lock(&connection));
}

static void unlock_connection(void) {
    conn_unlock(&connection);
}

static void lock_fast(void) {
    ASSERT(spin_lock(&short_lock));
}

static void unlock_fast(void) {
    spin_unlock(&short_lock);
}

static const struct lock {
    const char *name;
    void (*lock)(void), (*unlock)(void);
} locks[] = {
    {"a connection's lock", lock_connection, unlock_connection},
    {"a short lock", lock_fast, unlock_fast},
};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The calling thread, on one processor with all others that come here.  0 or errno. */
static int runs_with(int priority) {
    static cpu_set_t one;
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&once);
    if (CPU_COUNT(&one) == 0)
        CPU_SET(sched_getcpu(), &one);
    pthread_mutex_unlock(&once);
    struct sched_param parameter = {.sched_priority = priority};
    int error = pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return error ? error : pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
}

struct meeting {
    const struct lock *lock;
    pthread_barrier_t both_ready;
    pthread_mutex_t asleep; /* the waiter sleeps in it until the holder lets it run */
    int error;
    double waited_ms;
};

static void *waits(void *argument) {
    struct meeting *m = argument;
    m->error = runs_with(LOWEST + 1);
    pthread_barrier_wait(&m->both_ready);
    pthread_mutex_lock(&m->asleep);
    double before = now_ms();
    m->lock->lock();
    m->waited_ms = now_ms() - before;
    m->lock->unlock();
    pthread_mutex_unlock(&m->asleep);
    return NULL;
}

static void *holds(void *argument) {
    struct meeting *m = argument;
    const struct timespec moment = {.tv_nsec = 20000000};
    m->error = runs_with(LOWEST);
    pthread_mutex_lock(&m->asleep);
    pthread_barrier_wait(&m->both_ready);
    nanosleep(&moment, NULL); /* until the other one sleeps */
    m->lock->lock();
    pthread_mutex_unlock(&m->asleep); /* it runs at once, in our place, and wants the lock */
    m->lock->unlock();
    return NULL;
}

Test(lock_priorities, a_holder_of_low_priority_is_let_run, .timeout = 60) {
    EACH_ROW(row, locks) {
        struct meeting m = {.lock = row, .asleep = PTHREAD_MUTEX_INITIALIZER};
        pthread_t holder, waiter;
        pthread_barrier_init(&m.both_ready, NULL, 2);
        ASSERT(pthread_create(&holder, NULL, holds, &m) == 0);
        ASSERT(pthread_create(&waiter, NULL, waits, &m) == 0);
        pthread_join(holder, NULL);
        pthread_join(waiter, NULL);
        if (m.error == EPERM && !getenv("UNSTALL_TESTS_MUST_RUN"))
            cr_skip_test("no real-time priorities for this user");
        EXPECT_INT(row->name, m.error, 0);
        cr_expect(m.waited_ms < MOST_MS, "%s: %.2f ms", row->name, m.waited_ms);
        cr_log_info("%s: %.3f ms", row->name, m.waited_ms);
    }
}
