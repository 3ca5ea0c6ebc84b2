/* SPDX-License-Identifier: MIT */
#include "hold.h"

#include <pthread.h>

#include "coalesce_buffer.h"
#include "reentry.h"
#include "ticker_thread.h"

/* glibc keeps the values of these in the thread itself.  For a later key it allocates, perhaps in a signal
 * handler that has interrupted malloc(3). */
enum { KEYS_IN_THREAD = 32 };

static pthread_key_t ends_key;
static uint32_t ends_state; /* of ends_key: 0 none, 1 in creation, 2 ready, 3 impossible */

static void thread_ends(void *unused) {
    (void)unused;
    self.ends_watched = false;
    reentry_abandon(); /* cancelled while sending buffered bytes, or inside a handler */
    hold_thread_ends();
    struct conn *c = self.releasing;
    self.releasing = NULL;
    if (c && conn_lock(c)) { /* cancelled before the write that would have pushed the held bytes */
        STORE(&c->held, true);
        hold_push(c, PUSH_PROCESS);
        conn_unlock(c);
    }
    buffer_thread_ends();
}

void hold_watches_ends(void) {
    uint32_t none = 0;
    if (!REPLACE(&ends_state, &none, 1, __ATOMIC_ACQ_REL))
        return;
    bool made = pthread_key_create(&ends_key, thread_ends) == 0;
    bool far = made && ends_key >= KEYS_IN_THREAD;
    if (far)
        pthread_key_delete(ends_key);
    STORE_RELEASE(&ends_state, made && !far ? 2 : 3);
}

void hold_watch_thread_end(void) {
    hold_watches_ends();
    if (UNLIKELY(self.lock_bits == 0))
        lock_bits_make();
    if (LOAD_ACQUIRE(&ends_state) == 2)
        self.ends_watched = pthread_setspecific(ends_key, &self) == 0;
}

void thread_may_lock(void) {
    if (!self.ends_watched)
        hold_watch_thread_end();
}

void hold_thread_ends(void) {
    hold_end_turn(PUSH_PROCESS);
    ticker_thread_ends();
}
