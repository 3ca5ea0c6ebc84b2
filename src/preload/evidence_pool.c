/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "clock.h"
#include "evidence.h"
#include "raw.h"
#include "spin.h"

enum { CHUNK = 64 * 1024 };

static struct evidence *free_ones;
static uint32_t pool_lock;

static struct evidence *chunk(void) {
    long p = raw_map(CHUNK);
    if (p < 0 && p > -4096)
        return NULL;
    struct evidence *all = (struct evidence *)p;
    for (size_t i = 0; i + 1 < CHUNK / sizeof(*all); i++)
        all[i].next_free = &all[i + 1];
    return all;
}

static struct evidence *take(void) {
    spin_lock(&pool_lock);
    struct evidence *e = free_ones ? free_ones : chunk();
    if (e)
        free_ones = e->next_free;
    spin_unlock(&pool_lock);
    return e;
}

bool evidence_begin(struct conn *c) {
    if (c->evidence)
        return true;
    if (c->listener || !evidence_wanted(config()) || config()->quiet)
        return false;
    struct evidence *e = take();
    if (!e)
        return false;
    memset(e, 0, sizeof(*e));
    e->born = clock_now();
    e->row = e->record = EVIDENCE_NONE;
    e->arm = NO_ARM;
    e->role = c->origin == ORIGIN_ACCEPTED ? ROLE_LISTENER
              : c->origin == ORIGIN_SOCKET ? ROLE_DESTINATION
                                           : ROLE_UNKNOWN;
    c->evidence = e;
    return true;
}

void evidence_free(struct conn *c) {
    struct evidence *e = c->evidence;
    c->evidence = NULL;
    if (!e)
        return;
    spin_lock(&pool_lock);
    e->next_free = free_ones;
    free_ones = e;
    spin_unlock(&pool_lock);
}

void evidence_repair(struct conn *c) {
    struct evidence *e = c->evidence;
    e->row = e->record = EVIDENCE_NONE;
    e->message_began = e->input_at = e->early = 0;
    e->since_moved = 0;
    e->small_writes = e->small_told = 0;
    e->told = (struct conn_counts){0};
    memset(e->found, 0, sizeof(e->found));
    memset(e->told_found, 0, sizeof(e->told_found));
    e->suspect = false; /* the parent settles it */
    e->pattern = e->first_write = EVIDENCE_NONE;
    e->wrote = e->dark_told = e->ended = false;
}
