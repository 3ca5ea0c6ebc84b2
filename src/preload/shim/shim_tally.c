/* SPDX-License-Identifier: MIT */
#include "shim_tally.h"

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

void shim_account(struct conn *c, const struct policy_action *action, size_t bytes) {
    shim_count(c, action, bytes);
    c->counts.suspected += action->suspected;
    if (UNLIKELY(c->evidence != NULL))
        tally_written(c, action);
}
