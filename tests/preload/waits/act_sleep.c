/* SPDX-License-Identifier: MIT
 *
 * Waits for time to pass, for a semaphore, for a thread.
 */
#include "acts.h"

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <unistd.h>

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
