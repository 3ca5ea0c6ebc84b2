/* SPDX-License-Identifier: MIT
 *
 * Real-time priorities: a thread that waits for a lock lets its holder run, with any priorities of the two.
 * A waiter that only yielded kept the processor from a holder of lower priority until the kernel's throttling
 * took it away: 1000 ms (sched(7), sched_rt_runtime_us).
 */
#include <pthread.h>
#include <sched.h>

#include "clock.h"
#include "conn.h"
#include "lock.h"
#include "unit.h"

static struct conn connection;
static uint32_t short_lock;

static void take(bool of_connection) {
    ASSERT(of_connection ? conn_lock(&connection) : spin_lock(&short_lock));
}

static void give(bool of_connection) {
    of_connection ? conn_unlock(&connection) : spin_unlock(&short_lock);
}

static struct {
    bool of_connection;
    pthread_barrier_t both_ready;
    pthread_mutex_t asleep; /* the waiter sleeps in it until the holder lets it run */
    cpu_set_t processor;    /* of both */
    int error;
    uint64_t waited_ns;
} m = {.asleep = PTHREAD_MUTEX_INITIALIZER};

static void runs_with(int priority) {
    struct sched_param parameter = {.sched_priority = priority};
    int error = pthread_setaffinity_np(pthread_self(), sizeof(m.processor), &m.processor);
    m.error = error ? error : pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
}

static void *waits(void *unused) {
    (void)unused;
    runs_with(2);
    pthread_barrier_wait(&m.both_ready);
    pthread_mutex_lock(&m.asleep);
    m.waited_ns = clock_now();
    take(m.of_connection);
    m.waited_ns = clock_now() - m.waited_ns;
    give(m.of_connection);
    pthread_mutex_unlock(&m.asleep);
    return NULL;
}

static void *holds(void *unused) {
    (void)unused;
    runs_with(1);
    pthread_mutex_lock(&m.asleep);
    pthread_barrier_wait(&m.both_ready);
    usleep(20000); /* until the other one sleeps */
    take(m.of_connection);
    pthread_mutex_unlock(&m.asleep); /* it runs at once, in our place, and wants the lock */
    give(m.of_connection);
    return NULL;
}

Test(lock_priorities, a_holder_of_low_priority_is_let_run, .timeout = 60) {
    CPU_SET(sched_getcpu(), &m.processor);
    pthread_barrier_init(&m.both_ready, NULL, 2);
    for (int i = 0; i < 2; i++) {
        pthread_t holder, waiter;
        m.of_connection = i;
        ASSERT(pthread_create(&holder, NULL, holds, NULL) == 0);
        ASSERT(pthread_create(&waiter, NULL, waits, NULL) == 0);
        pthread_join(holder, NULL);
        pthread_join(waiter, NULL);
        if (m.error == EPERM && !getenv("UNSTALL_TESTS_MUST_RUN"))
            cr_skip_test("no real-time priorities for this user");
        EXPECT_INT("set", m.error, 0);
        EXPECT_INT("waited 200 ms or more", m.waited_ns / 200000000, 0);
    }
}
