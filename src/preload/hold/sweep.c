/* SPDX-License-Identifier: MIT
 *
 * A change of the configuration reaches each connection at its next call (sweep_adopt).  sweep() lets all
 * adopt it at once, and pushes what they hold: when a call or the window's thread sees the control block
 * changed, and when the process forks, is replaced or steps aside.
 */
#include "turn.h"

#include "fds.h"
#include "stats_file.h"

/* False: the mode is not certain yet, because the socket is not connected. */
static bool mode_of(struct conn *c, const struct config *now, enum mode *mode) {
    bool settled = true;
    *mode = now->mode;
    if (UNLIKELY(evidence_wanted(now) && !c->evidence && c->origin == ORIGIN_FOREIGN))
        tally_first_sight(c);
    if (UNLIKELY(c->evidence != NULL))
        settled = tally_mode(c, now, mode);
    if (c->filtered || !c->filters_applied || now->killed || now->no_syscalls)
        *mode = MODE_OFF;
    return settled;
}

void sweep_adopt(struct conn *c) {
    const struct config *now = config();
    enum mode before = (enum mode)c->policy.mode;
    enum mode mode;
    bool settled = mode_of(c, now, &mode) && c->filters_applied;
    STORE(&c->policy.mode, (uint8_t)mode);
    STORE_RELEASE(&c->epoch, settled ? now->epoch : 0); /* whoever sees it sees the mode, too */
    if (now->no_syscalls)
        return; /* process_filters() pushes the bytes that are still held */
    if (c->policy.mode != before)
        hold_push(c, PUSH_MODE);
    if (mode_cures(before) && !mode_cures((enum mode)c->policy.mode))
        hold_restore(c);
    if (mode_cures((enum mode)c->policy.mode) && c->policy.untracked_io)
        hold_untrack(c);
}

void sweep(enum push_cause cause) {
    FDS_EACH(c) {
        hold_push(c, cause);
        if (c->epoch != config()->epoch)
            sweep_adopt(c);
    }
}

void sweep_told(void) {
    uint32_t sequence;
    if (!control_look(&sequence))
        return;
    sweep(PUSH_MODE);
    control_is_in_force(sequence);
}
