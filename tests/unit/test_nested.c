/* SPDX-License-Identifier: MIT
 *
 * A signal handler interrupts our own thread inside a lock, and does not come back.
 */
#include <pthread.h>
#include <time.h>

#include "nested.h"
#include "shim_parts.h"
#include "unit.h"

static struct conn shared;
static uint32_t passed;

/* Nothing is written here. */
ssize_t shim_forward(const struct out *o) {
    (void)o;
    return -1;
}

ssize_t shim_fail(int error, int flags) {
    (void)error;
    (void)flags;
    return -1;
}

void shim_parts_of(const struct out *o, struct parts *p) {
    (void)o;
    (void)p;
}

ssize_t shim_send_after_gathered(struct conn *c, const struct out *o, const struct parts *p) {
    (void)c;
    (void)o;
    (void)p;
    return -1;
}

static void *pass(void *unused) {
    (void)unused;
    conn_lock(&shared);
    passed = 1;
    conn_unlock(&shared);
    return NULL;
}

static pthread_t waiter_asleep(void) {
    const struct timespec moment = {.tv_nsec = 50000000};
    pthread_t thread;
    ASSERT(pthread_create(&thread, NULL, pass, NULL) == 0);
    while ((LOAD(&shared.lock) & 3) != 2) /* bounded by the test's time */
        sched_yield();
    nanosleep(&moment, NULL);
    return thread;
}

Test(nested, a_lock_that_is_left_is_free, .timeout = 10) {
    conn_lock(&shared);
    pthread_t thread = waiter_asleep();
    nested_abandon();
    EXPECT_INT("depth", self.depth, 0);
    pthread_join(thread, NULL);
    EXPECT_INT("the next one came", passed, 1);
}

/* Of two that wait one is woken, and it is that one which its handler takes away. */
Test(nested, a_waiter_that_leaves_wakes_the_next, .timeout = 10) {
    conn_lock(&shared);
    pthread_t thread = waiter_asleep();
    STORE(&shared.lock, lock_free_word()); /* unlocked, and the wake-up was for us */
    nested_abandon();
    EXPECT_INT("depth", self.depth, 0);
    pthread_join(thread, NULL);
    EXPECT_INT("the next one came", passed, 1);
}
