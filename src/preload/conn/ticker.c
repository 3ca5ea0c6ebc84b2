/* SPDX-License-Identifier: MIT */
#include "ticker.h"

#include <linux/futex.h>

#include "clock.h"
#include "config.h"
#include "endpoint_cache.h"
#include "raw.h"

int ticker_now;
uint64_t ticker_ticks = 1;
struct conn *ticker_incoming;
uint32_t ticker_parked;

void ticker_unpark(void) {
    if (__atomic_load_n(&ticker_parked, __ATOMIC_SEQ_CST) &&
        __atomic_exchange_n(&ticker_parked, 0, __ATOMIC_SEQ_CST))
        raw3(SYS_futex, &ticker_parked, FUTEX_WAKE_PRIVATE, 1);
}

bool ticker_watch_slow(struct conn *c) {
    c->ticking = true;
    struct conn *top = LOAD(&ticker_incoming);
    do
        c->next_ticking = top;
    while (!REPLACE(&ticker_incoming, &top, c, __ATOMIC_SEQ_CST));
    ticker_unpark();
    return __atomic_load_n(&ticker_now, __ATOMIC_SEQ_CST) == TICKER_RUNS;
}

bool ticker_watch_without(struct conn *c) {
    STORE(&c->held_since, clock_coarse());
    if (UNLIKELY(LOAD(&endpoint_late[c->endpoint].watched)) && c->policy.mode == MODE_AUTO &&
        !config()->no_syscalls) {
        self.hold.of = kernel->usage(&self.hold.used) == 0 ? c : NULL;
        self.hold.since = c->held_since;
    }
    return c->buffer == NULL;
}
