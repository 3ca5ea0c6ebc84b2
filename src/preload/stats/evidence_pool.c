/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "clock.h"
#include "evidence.h"
#include "pool.h"
#include "upcalls.h"

enum { CHUNK = 64 * 1024 };

static struct pool pool;

bool evidence_begin(struct conn *c) {
    if (c->evidence)
        return true;
    if (c->listener || !evidence_wanted(config()) || config()->no_syscalls)
        return false;
    struct evidence *e = pool_take(&pool, sizeof(*e), CHUNK / sizeof(*e));
    if (!e)
        return false;
    memset(e, 0, sizeof(*e));
    e->opened = clock_now();
    e->row = e->record = EVIDENCE_NONE;
    e->arm = NO_ARM;
    e->alone_since = LOAD(&nodelay_epoch);
    e->role = c->origin == ORIGIN_ACCEPTED ? ROLE_LISTENER
              : c->origin == ORIGIN_SOCKET ? ROLE_DESTINATION
                                           : ROLE_UNKNOWN;
    c->evidence = e;
    return true;
}

void evidence_free(struct conn *c) {
    struct evidence *e = c->evidence;
    c->evidence = NULL;
    if (e)
        pool_give(&pool, e);
}

void conn_repaired(struct conn *c) {
    struct evidence *e = c->evidence;
    e->row = e->record = EVIDENCE_NONE;
    e->message_began = e->input_at = e->early = 0;
    e->since_moved = 0;
    e->small_writes = e->small_told = 0;
    e->told = (struct conn_counts){0};
    memset(e->found, 0, sizeof(e->found));
    memset(e->told_found, 0, sizeof(e->told_found));
    e->suspect = false; /* the parent settles it */
    e->pattern = e->first.kept = e->last.kept = EVIDENCE_NONE;
    e->wrote = e->untracked_told = e->ended = false;
}
