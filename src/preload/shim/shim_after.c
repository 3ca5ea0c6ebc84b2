/* SPDX-License-Identifier: MIT
 *
 * Corrections after a send that differed from the decision and the counts made before it.
 */
#include <errno.h>

#include "fds.h"
#include "hold.h"
#include "reentry.h"
#include "shim_parts.h"
#include "tally.h"
#include "ticker.h"

void shim_write_rollback(struct conn *c, int fd, const struct policy_action *action, size_t bytes,
                  ssize_t sent, bool held) {
    int saved = errno;
    bool locked = fds_lock_again(c, fd);
    if (locked || fds_word(fd) == (uintptr_t)c)
        conn_count_bytes(c, (sent > 0 ? (uint64_t)sent : 0) - bytes);
    if (!locked)
        return;
    struct conn_counts *n = &c->counts;
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
        bool again = held && !c->held; /* a push came before this write failed */
        STORE(&c->held, held);
        if (again && !ticker_watch(c))
            hold_push(c, PUSH_PROCESS);
        policy_met(&c->policy, saved);
    }
    conn_unlock(c);
    errno = saved;
}

void shim_established(struct call call) {
    struct conn *c = call.conn;
    if (!call_lock(call))
        return;
    policy_established(&c->policy);
    if (UNLIKELY(!c->evidence))
        tally_created(c); /* connected by a write (TCP Fast Open) */
    conn_unlock(c);
}

/* A push came between the decision and the send: from another thread, or from the
 * window while this thread had no CPU.  The bytes came after the push, so the kernel
 * holds them all the same. */
void shim_rehold_after_push(struct conn *c, int fd) {
    int saved = errno;
    if (!fds_lock_again(c, fd)) {
        if (fds_word(fd) == (uintptr_t)c)
            reentry_set_aside(c, ASIDE_PUSH, 0);
        return;
    }
    STORE(&c->held, true);
    hold_resume_turn(c);
    if (!ticker_watch(c))
        hold_push(c, PUSH_PROCESS);
    conn_unlock(c);
    errno = saved;
}

/* Policy notes the error: if the mode changes later, no write may appear to succeed after an error
 * that the application has seen. */
void shim_not_sent(struct call call, int error) {
    struct conn *c = call.conn;
    int saved = errno;
    if (!call_lock(call))
        return;
    policy_met(&c->policy, error);
    if (c->evidence)
        tally_unsent(c, NULL);
    conn_unlock(c);
    errno = saved;
}

ssize_t shim_plain_after_all(const struct write_request *o) {
    fds_forget(o->fd);
    return shim_forward(o);
}
