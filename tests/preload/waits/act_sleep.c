/* SPDX-License-Identifier: MIT
 *
 * Waits for time to pass, for a semaphore, for a condition, for a thread.
 */
#include "acts.h"

#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <threads.h>

extern int other_nanosleep(const struct timespec *, struct timespec *) SYMBOL("__nanosleep");

static const struct timespec span = {.tv_nsec = WAIT_MS * 1000000};

ACT(sleep, NULL, ALARM, sleep(1))
ACT(usleep, NULL, 0, usleep(WAIT_MS * 1000))
ACT(nanosleep, NULL, 0, nanosleep(&span, NULL))
ACT(__nanosleep, NULL, 0, other_nanosleep(&span, NULL))
ACT(clock_nanosleep, NULL, 0, clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL))
ACT(thrd_sleep, NULL, 0, thrd_sleep(&span, NULL))

static sem_t closed;

static void closed_semaphore(void) {
    if (sem_init(&closed, 0, 0) < 0)
        fail("sem_init");
}

#define DEADLINE(clock) (&(struct timespec[]){after_ms(clock, WAIT_MS)}[0])

ACT(sem_wait, closed_semaphore, ALARM, sem_wait(&closed))
ACT(sem_timedwait, closed_semaphore, 0, sem_timedwait(&closed, DEADLINE(CLOCK_REALTIME)))
ACT(sem_clockwait, closed_semaphore, 0,
    sem_clockwait(&closed, CLOCK_MONOTONIC, DEADLINE(CLOCK_MONOTONIC)))

static pthread_t thread;
static thrd_t c11_thread;

static void *sleeper(void *unused) {
    sleep_out_of_sight();
    return unused;
}

static int c11_sleeper(void *unused) {
    (void)unused;
    sleep_out_of_sight();
    return 0;
}

static void sleeping_thread(void) {
    if (pthread_create(&thread, NULL, sleeper, NULL) != 0)
        fail("pthread_create");
}

static void sleeping_c11_thread(void) {
    if (thrd_create(&c11_thread, c11_sleeper, NULL) != thrd_success)
        fail("thrd_create");
}

ACT(pthread_join, sleeping_thread, 0, pthread_join(thread, NULL))
ACT(pthread_timedjoin_np, sleeping_thread, 0,
    pthread_timedjoin_np(thread, NULL, DEADLINE(CLOCK_REALTIME)))
ACT(pthread_clockjoin_np, sleeping_thread, 0,
    pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, DEADLINE(CLOCK_MONOTONIC)))
ACT(thrd_join, sleeping_c11_thread, 0, thrd_join(c11_thread, NULL))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static mtx_t c11_mutex;
static cnd_t c11_condition;

static void *wakes_all(void *unused) {
    sleep_out_of_sight();
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    mtx_lock(&c11_mutex);
    cnd_broadcast(&c11_condition);
    mtx_unlock(&c11_mutex);
    return unused;
}

static void waking_thread(void) {
    if (mtx_init(&c11_mutex, mtx_plain) != thrd_success || cnd_init(&c11_condition) != thrd_success ||
        pthread_create(&thread, NULL, wakes_all, NULL) != 0)
        fail("waking_thread");
}

#define LOCKED(call) (pthread_mutex_lock(&mutex), call)
#define C11_LOCKED(call) (mtx_lock(&c11_mutex), call)

ACT(pthread_cond_wait, waking_thread, 0, LOCKED(pthread_cond_wait(&condition, &mutex)))
ACT(pthread_cond_timedwait, NULL, 0,
    LOCKED(pthread_cond_timedwait(&condition, &mutex, DEADLINE(CLOCK_REALTIME))))
ACT(pthread_cond_clockwait, NULL, 0,
    LOCKED(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, DEADLINE(CLOCK_MONOTONIC))))
ACT(cnd_wait, waking_thread, 0, C11_LOCKED(cnd_wait(&c11_condition, &c11_mutex)))
ACT(cnd_timedwait, waking_thread, 0,
    C11_LOCKED(cnd_timedwait(&c11_condition, &c11_mutex, DEADLINE(CLOCK_REALTIME))))

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__i386__))
#ifdef __x86_64__
#define OLDEST "GLIBC_2.2.5"
#else
#define OLDEST "GLIBC_2.0"
#endif

/* The definition of glibc before 2.3.2: zero initializes it. */
extern __typeof__(pthread_cond_timedwait) older_timedwait;
__asm__(".symver older_timedwait, pthread_cond_timedwait@" OLDEST);
static pthread_cond_t older_condition;

ACT_AS(older_timedwait, "older pthread_cond_timedwait", NULL, 0,
       LOCKED(older_timedwait(&older_condition, &mutex, DEADLINE(CLOCK_REALTIME))))
#endif

/* ---- by syscall(2) ------------------------------------------------------ */

static uint32_t word;

#define FUTEX(operation, until) syscall(SYS_futex, &word, operation, 0, until, NULL, ~0U)

ACT_AS(syscall_futex, "syscall SYS_futex FUTEX_WAIT", NULL, 0, FUTEX(FUTEX_WAIT_PRIVATE, &span))
ACT_AS(syscall_bitset, "syscall SYS_futex FUTEX_WAIT_BITSET", NULL, 0,
       FUTEX(FUTEX_WAIT_BITSET_PRIVATE, DEADLINE(CLOCK_MONOTONIC)))
ACT_AS(syscall_ppoll, "syscall SYS_ppoll", NULL, 0, syscall(SYS_ppoll, NULL, 0, &span, NULL, 0))
ACT_AS(syscall_nanosleep, "syscall SYS_nanosleep", NULL, 0, syscall(SYS_nanosleep, &span, NULL))

static aio_context_t requests;

static void no_requests(void) {
    if (syscall(SYS_io_setup, 1, &requests) < 0)
        fail("io_setup");
}

ACT_AS(syscall_getevents, "syscall SYS_io_getevents", no_requests, 0,
       syscall(SYS_io_getevents, requests, 1L, 1L, &(struct io_event){0}, &span))
