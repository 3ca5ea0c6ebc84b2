/* SPDX-License-Identifier: MIT */
#include "hold.h"

#include <pthread.h>

#include "coalesce_buffer.h"
#include "reentry.h"
#include "ticker_thread.h"

static pthread_key_t ends_key;
static uint32_t ends_state; /* of ends_key: 0 none, 1 in creation, 2 ready, 3 impossible */

static void thread_ends(void *unused) {
    (void)unused;
    self.ends_watched = false;
    reentry_abandon(); /* cancelled while sending buffered bytes, or inside a handler */
    hold_thread_ends();
    struct conn *c = self.releasing;
    self.releasing = NULL;
    if (c) { /* cancelled before the write that would have pushed the held bytes */
        conn_lock(c);
        STORE(&c->held, true);
        hold_push(c, PUSH_PROCESS);
        conn_unlock(c);
    }
    buffer_thread_ends();
}

/* The return or cancellation of a thread ends its turn, too. */
void hold_watch_thread_end(void) {
    uint32_t none = 0;
    if (REPLACE(&ends_state, &none, 1, __ATOMIC_ACQ_REL))
        STORE_RELEASE(&ends_state, pthread_key_create(&ends_key, thread_ends) == 0 ? 2 : 3);
    if (UNLIKELY(self.lock_bits == 0))
        lock_bits_make();
    if (LOAD_ACQUIRE(&ends_state) == 2)
        self.ends_watched = pthread_setspecific(ends_key, &self) == 0;
}

/* A reading thread that is cancelled asynchronously may hold a lock, so its end must be seen.  The read
 * may run in a signal handler, so libc must not allocate: it keeps keys below 32 in the thread itself. */
void hold_watch_reader(void) {
    if (LOAD_ACQUIRE(&ends_state) != 2 || ends_key < 32)
        hold_watch_thread_end();
}

void thread_may_lock(void) {
    if (!self.ends_watched)
        hold_watch_reader();
}

void hold_thread_ends(void) {
    hold_end_turn(PUSH_PROCESS);
    ticker_thread_ends();
}
