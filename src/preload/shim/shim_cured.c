/* SPDX-License-Identifier: MIT */
#include "shim_cured.h"

#include "config.h"
#include "fds.h"
#include "hold.h"
#include "shim.h"

bool rings_known;

/* True: the connection gets TCP_NODELAY when it is made.  The reason is UNSTALL_NODELAY=always, an
 * io_uring, or a stdio stream on the descriptor. */
void shim_nodelay_at_creation(struct conn *c) {
    const struct config *now = config();
    if (now->no_syscalls || !(now->always_nodelay || LOAD(&rings_known) || c->policy.untracked_io) ||
        c->policy.nodelay || c->policy.app_cork)
        return;
    shim_refresh(c);
    if (mode_cures((enum mode)c->policy.mode) && !c->policy.nodelay)
        hold_set_nodelay(c, c->fd);
}

void shim_uring(void) {
    if (!ours())
        return;
    STORE(&rings_known, true);
    FDS_EACH(c)
        if (!c->listener && c->policy.established)
            shim_nodelay_at_creation(c);
}
