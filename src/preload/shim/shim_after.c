/* SPDX-License-Identifier: MIT
 *
 * After the send, where it did not do what was decided and accounted before it.
 */
#include <errno.h>

#include "fds.h"
#include "hold.h"
#include "shim_parts.h"
#include "tally.h"
#include "ticker.h"

void shim_write_rollback(struct conn *c, int fd, const struct policy_action *action, size_t bytes,
                  ssize_t sent, bool held) {
    int saved = errno;
    struct conn *still = fds_lock(fd);
    if (still == c) {
        struct conn_counts *n = &c->counts;
        n->bytes -= bytes - (sent > 0 ? (size_t)sent : 0);
        policy_no_room(&c->policy);
        if (sent < 0) {
            policy_unsent(&c->policy, action, bytes);
            n->writes--;
            n->messages -= action->new_message;
            n->bursts -= action->burst;
            n->suspected -= action->suspected;
            n->held_writes -= action->how == WRITE_MORE;
            if (UNLIKELY(c->evidence != NULL))
                tally_unsent(c, action);
            bool again = held && !c->held; /* somebody pushed before this write failed */
            STORE(&c->held, held);
            if (again && !ticker_watch(c))
                hold_push(c, PUSH_PROCESS);
            policy_met(&c->policy, saved);
        }
    }
    if (still)
        conn_unlock(still);
    errno = saved;
}

void shim_established(struct conn *c) {
    conn_lock(c);
    policy_established(&c->policy);
    if (UNLIKELY(!c->evidence))
        tally_born(c); /* connected by a write (TCP Fast Open) */
    conn_unlock(c);
}

/* Between the decision and the send somebody pushed (the window, because this
 * thread was kept from the CPU, or another thread): the bytes came after it and
 * are held all the same. */
void shim_rehold_after_push(struct conn *c, int fd) {
    int saved = errno;
    struct conn *still = fds_lock(fd);
    if (still == c) {
        STORE(&c->held, true);
        hold_resume_turn(c);
        if (!ticker_watch(c))
            hold_push(c, PUSH_PROCESS);
    }
    if (still)
        conn_unlock(still);
    errno = saved;
}

/* Should the mode change, no write may seem to succeed behind the error that was told. */
void shim_not_sent(struct conn *c, int fd, int error) {
    int saved = errno;
    struct conn *still = fds_lock(fd);
    if (still && still == c) {
        policy_met(&c->policy, error);
        if (c->evidence)
            tally_unsent(c, NULL);
    }
    if (still)
        conn_unlock(still);
    errno = saved;
}

ssize_t shim_plain_after_all(const struct write_request *o) {
    fds_forget(o->fd);
    return shim_forward(o);
}
