/* SPDX-License-Identifier: MIT
 *
 * Which writes need no decision, because their connection is quiet or steady (conn.h).  The simulator has
 * policy alone; tests/unit/test_shim_steady.c compares these rules with the library.
 */
#ifndef UNSTALL_BENCH_UNDECIDED_H
#define UNSTALL_BENCH_UNDECIDED_H

#include "policy_inline.h"

/* What the last read has allowed the writes of the turn. */
enum undecided { DECIDES, QUIETLY, STEADILY };

/* As shim_read.c at the end of a read.  `waited`: a wait has ended the turn before on a connection with our
 * TCP_NODELAY (wait_began in conn.h). */
static inline enum undecided undecided_after_input(const struct policy *p, bool waited) {
    return policy_is_steady(p) ? STEADILY : policy_is_quiet(p) && !waited ? QUIETLY : DECIDES;
}

/* As shim_quiet.c, before the write. */
static inline bool needs_decision(enum undecided *next, const struct policy *p, uint32_t small,
                                  size_t bytes) {
    bool steady = *next == STEADILY;
    enum turn_guess guess = steady ? policy_steady_guess(p, p->position, small, bytes) : TURN_LAST;
    bool needs = *next == DECIDES || guess == TURN_UNKNOWN || (!steady && !policy_quiet_takes(p, bytes));
    if (needs || guess == TURN_LAST)
        *next = DECIDES;
    return needs;
}

#endif
