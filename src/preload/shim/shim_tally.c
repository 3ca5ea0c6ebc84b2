/* SPDX-License-Identifier: MIT */
#include "shim_tally.h"

#include "policy_inline.h"
#include "shim_parts.h"
#include "stats_control.h"
#include "stats_rows.h"
#include "sweep.h"
#include "tally.h"

void shim_tally_catch_up(void) {
    stats_meets_tcp();
    if (control_changed())
        sweep_told();
}

struct conn *shim_tally(struct conn *c, int fd) {
    if (UNLIKELY(tally_pending())) {
        conn_unlock(c);
        shim_tally_catch_up();
        c = shim_find(fd);
    }
    if (c && c->evidence)
        tally_write_begins(c);
    return c;
}

/* Other threads may count at the same time: a message or a burst may then be counted wrongly, but no byte and
 * no write. */
struct shim_counted shim_counts(struct conn *c, const struct config *now, size_t bytes) {
    struct policy *p = &c->policy;
    struct shim_counted counted = {.open = LOAD(&p->message_bytes)};
    uint32_t room = UINT32_MAX - counted.open;
    STORE(&p->message_bytes, counted.open + (bytes < room ? (uint32_t)bytes : room));
    conn_count_bytes(c, bytes);
    __atomic_fetch_add(&c->counts.writes, 1, __ATOMIC_RELAXED);
    if (counted.open == 0)
        __atomic_fetch_add(&c->counts.messages, 1, __ATOMIC_RELAXED);
    if (is_small_write(p, now->small, bytes)) {
        uint16_t small = LOAD(&p->small_writes);
        counted.burst = small == 1;
        STORE(&p->small_writes, (uint16_t)(small + (small != UINT16_MAX)));
        if (counted.burst)
            __atomic_fetch_add(&c->counts.bursts, 1, __ATOMIC_RELAXED);
    }
    return counted;
}

void shim_counted_too_much(struct conn *c, struct shim_counted counted, size_t bytes,
                           ssize_t sent) {
    conn_count_bytes(c, (sent > 0 ? (uint64_t)sent : 0) - bytes);
    if (sent > 0)
        return;
    STORE(&c->policy.message_bytes, counted.open);
    __atomic_fetch_sub(&c->counts.writes, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&c->counts.messages, counted.open == 0, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&c->counts.bursts, counted.burst, __ATOMIC_RELAXED);
}

void shim_account(struct conn *c, const struct policy_action *action, size_t bytes) {
    shim_count(c, action, bytes);
    c->counts.suspected += action->suspected;
    if (UNLIKELY(c->evidence != NULL))
        tally_written(c, action);
}
