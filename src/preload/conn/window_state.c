/* SPDX-License-Identifier: MIT */
#include "window_state.h"

#include <linux/futex.h>

#include "clock.h"
#include "config.h"
#include "endpoint_cache.h"
#include "raw.h"

int window_now;
window_tick window_ticks = 1;
struct conn *window_incoming;
uint32_t window_parked;

void window_unpark(void) {
    if (__atomic_load_n(&window_parked, __ATOMIC_SEQ_CST) &&
        __atomic_exchange_n(&window_parked, 0, __ATOMIC_SEQ_CST))
        raw3(SYS_futex, &window_parked, FUTEX_WAKE_PRIVATE, 1);
}

bool window_watch_slow(struct conn *c) {
    c->ticking = true;
    struct conn *top = LOAD(&window_incoming);
    do
        c->next_ticking = top;
    while (!REPLACE(&window_incoming, &top, c, __ATOMIC_SEQ_CST));
    window_unpark();
    return __atomic_load_n(&window_now, __ATOMIC_SEQ_CST) == WINDOW_RUNS;
}

bool window_watch_without(struct conn *c) {
    STORE(&c->habit_ns, clock_coarse());
    if (UNLIKELY(LOAD(&endpoint_late[c->endpoint].watched)) && c->policy.mode == MODE_AUTO &&
        !config()->no_syscalls) {
        self.hold.of = kernel->usage(&self.hold.used) == 0 ? c : NULL;
        self.hold.since = c->habit_ns;
    }
    return c->buffer == NULL;
}
