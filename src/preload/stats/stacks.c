/* SPDX-License-Identifier: MIT */
#include "stacks.h"

#include <string.h>

#include "evidence.h"
#include "raw.h"
#include "spin.h"
#include "stats_file.h"
#include "stats_rows.h"

enum {
    CALLERS = 64,
    CALLER_TRIES = 8,
    IDLE_MOST = 16, /* messages of one write in a row before a call site is no longer sampled */
    FIRST_WRITES = 16,
};

/* A call site that begins messages. */
struct caller {
    uintptr_t address;
    uint8_t idle; /* messages since the last second write; IDLE_MOST: not sampled */
};

/* The first write of a message that may get a second one. */
struct first_write {
    const struct evidence *owner;
    struct stats_write write;
};

static struct caller callers[CALLERS];
static struct first_write *firsts;
static uint32_t next_first;
static uint8_t occurrences[STATS_PATTERNS];
static uint32_t stacks_lock;

static struct stats_file *allowed(void) {
    const struct config *now = config();
    return now->stacks && !now->no_syscalls ? stats_file_now() : NULL;
}

/* The entry of an address, or a free one for it, or NULL. */
static struct caller *caller_of(uintptr_t address) {
    uintptr_t hash = (address >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (unsigned i = 0; i < CALLER_TRIES; i++) {
        struct caller *k = &callers[(hash + i) % CALLERS];
        uintptr_t there = LOAD(&k->address);
        if (there == address || there == 0)
            return k;
    }
    return NULL;
}

static bool make_room(void) {
    if (!firsts)
        firsts = raw_map(FIRST_WRITES * sizeof(*firsts));
    return firsts != NULL;
}

struct stacks_piece stacks_keep(const struct evidence *e, const struct evidence_write *w) {
    struct stacks_piece piece = {w->caller, EVIDENCE_NONE};
    if (!w->caller || !allowed())
        return piece;
    struct caller *k = caller_of(w->caller);
    if (!k || LOAD(&k->idle) >= IDLE_MOST || !spin_trylock(&stacks_lock))
        return piece;
    k = caller_of(w->caller);
    if (k && make_room()) {
        STORE(&k->address, w->caller);
        STORE(&k->idle, (uint8_t)(k->idle + 1));
        piece.kept = next_first++ % FIRST_WRITES;
        struct first_write *f = &firsts[piece.kept];
        f->owner = e;
        stack_snapshot(&f->write, w);
    }
    spin_unlock(&stacks_lock);
    return piece;
}

static uint32_t pattern_of(struct stats_file *s, const struct evidence *e, uintptr_t first,
                           uintptr_t second) {
    for (uint32_t i = 0; i < STATS_PATTERNS; i++) {
        const struct stats_pattern *p = &s->pattern[i];
        if (LOAD_ACQUIRE(&p->state) != STATS_VALID)
            return EVIDENCE_NONE;
        if (p->caller[0] == first && p->caller[1] == second && p->behind == e->behind)
            return i;
    }
    return EVIDENCE_NONE;
}

/* Lock held.  Patterns are taken in order and never freed. */
static uint32_t new_pattern(struct stats_file *s, const struct evidence *e, uintptr_t first,
                            uintptr_t second) {
    for (uint32_t i = 0; i < STATS_PATTERNS; i++) {
        struct stats_pattern *p = &s->pattern[i];
        if (p->state == STATS_VALID)
            continue;
        p->row = e->row == EVIDENCE_NONE ? 0 : (uint16_t)e->row;
        p->behind = e->behind;
        p->caller[0] = first;
        p->caller[1] = second;
        STORE_RELEASE(&p->state, STATS_VALID);
        return i;
    }
    __atomic_fetch_add(&s->header.lost_patterns, 1, __ATOMIC_RELAXED);
    return EVIDENCE_NONE;
}

/* Lock held. */
static void keep_occurrence(struct stats_file *s, const struct evidence *e, const struct stacks_piece *first,
                            uint32_t pattern, const struct evidence_write *w) {
    struct caller *k = caller_of(first->caller);
    uint8_t n = occurrences[pattern];
    if (k && k->address == first->caller)
        STORE(&k->idle, n < STATS_OCCURRENCES ? 0 : IDLE_MOST);
    if (n >= STATS_OCCURRENCES || first->kept == EVIDENCE_NONE || firsts[first->kept].owner != e)
        return; /* the pattern is complete, or the first write was not kept: the site is sampled again */
    struct stats_occurrence *o = &s->pattern[pattern].occurrence[n];
    if (!stats_file_reserve(o, sizeof(*o)))
        return;
    o->state = STATS_BEING_WRITTEN;
    o->write[0] = firsts[first->kept].write;
    firsts[first->kept].owner = NULL;
    stack_snapshot(&o->write[1], w);
    STORE_RELEASE(&o->state, STATS_VALID);
    if (n == 0)
        modules_note(s); /* libraries may have been loaded since the last pattern */
    STORE(&occurrences[pattern], (uint8_t)(n + 1));
}

void stacks_pair(struct evidence *e, const struct stacks_piece *first, const struct evidence_write *w) {
    struct stats_file *s = allowed();
    if (!s || !w->caller || !first->caller)
        return;
    uint32_t pattern = pattern_of(s, e, first->caller, w->caller);
    bool complete = pattern != EVIDENCE_NONE && LOAD(&occurrences[pattern]) >= STATS_OCCURRENCES;
    struct caller *k = caller_of(first->caller);
    if (!complete || (k && LOAD(&k->idle) < IDLE_MOST)) {
        if (spin_trylock(&stacks_lock)) {
            pattern = pattern_of(s, e, first->caller, w->caller);
            if (pattern == EVIDENCE_NONE)
                pattern = new_pattern(s, e, first->caller, w->caller);
            if (pattern != EVIDENCE_NONE)
                keep_occurrence(s, e, first, pattern, w);
            spin_unlock(&stacks_lock);
        }
    }
    if (pattern == EVIDENCE_NONE)
        return;
    e->pattern = pattern;
    __atomic_fetch_add(&s->pattern[pattern].count, 1, __ATOMIC_RELAXED);
}

void stacks_stalled(const struct evidence *e, uint64_t ns) {
    struct stats_file *s = stats_file_now();
    if (!s || e->pattern >= STATS_PATTERNS)
        return;
    struct stats_pattern *p = &s->pattern[e->pattern];
    __atomic_fetch_add(&p->stalls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&p->stall_ns, ns, __ATOMIC_RELAXED);
}

void stacks_forked(void) {
    memset(callers, 0, sizeof(callers));
    memset(occurrences, 0, sizeof(occurrences));
    for (uint32_t i = 0; firsts && i < FIRST_WRITES; i++)
        firsts[i].owner = NULL;
}
