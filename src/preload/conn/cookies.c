/* SPDX-License-Identifier: MIT */
#include "cookies.h"

#include "raw.h"
#include "lock.h"

enum { FIRST_SLOTS = 512 };

struct table {
    uint32_t slots; /* a power of two */
    uint32_t used;  /* at most three quarters */
    struct conn **slot;
};

static struct conn *first_slots[FIRST_SLOTS];
static struct table first = {.slots = FIRST_SLOTS, .slot = first_slots};
static struct table *table = &first;
static uint32_t table_lock;

static size_t size_of(uint32_t slots) {
    return sizeof(struct table) + slots * sizeof(struct conn *);
}

/* Cookies are consecutive numbers: the golden ratio spreads them (Knuth, 6.4). */
static uint32_t start_of(const struct table *t, uint64_t cookie) {
    return (uint32_t)(cookie * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (t->slots - 1);
}

/* The slot of c under this cookie, or the free slot for it. */
static uint32_t place_of(const struct table *t, const struct conn *c, uint64_t cookie) {
    uint32_t at = start_of(t, cookie);
    while (t->slot[at] && t->slot[at] != c)
        at = (at + 1) & (t->slots - 1);
    return at;
}

/* The table may list a struct of the pool several times, because the pool uses it again.  Only the slot
 * of its present cookie counts. */
static bool is_known(const struct table *t, uint32_t at) {
    const struct conn *c = t->slot[at];
    uint64_t cookie = c ? LOAD(&c->cookie) : 0;
    return cookie && place_of(t, c, cookie) == at;
}

static void put(struct table *t, struct conn *c, uint64_t cookie) {
    uint32_t at = place_of(t, c, cookie);
    t->used += !t->slot[at];
    STORE_RELEASE(&t->slot[at], c);
}

/* Replace the table by one that holds the known connections and is at most half full.  False: no memory. */
static bool rebuild(void) {
    uint32_t known = 0, slots = FIRST_SLOTS;
    for (uint32_t i = 0; i < table->slots; i++)
        known += is_known(table, i);
    while (slots < 2 * (known + 1))
        slots *= 2;
    struct table *wider = raw_map(size_of(slots)), *before = table;
    if (!wider)
        return false;
    *wider = (struct table){.slots = slots, .slot = (struct conn **)(wider + 1)};
    for (uint32_t i = 0; i < before->slots; i++) {
        struct conn *c = before->slot[i];
        uint64_t cookie = c ? LOAD(&c->cookie) : 0;
        if (cookie)
            put(wider, c, cookie);
    }
    STORE_RELEASE(&table, wider);
    if (before != &first)
        raw_unmap(before, size_of(before->slots));
    return true;
}

void cookies_note(struct conn *c, uint64_t cookie) {
    STORE(&c->cookie, cookie);
    if (!cookie)
        return;
    if (!spin_lock(&table_lock))
        return; /* as without memory */
    if (table->used < table->slots / 4 * 3 || rebuild())
        put(table, c, cookie);
    spin_unlock(&table_lock);
}

struct conn *cookies_find(uint64_t cookie, bool *missed) {
    struct conn *c = NULL;
    *missed = !spin_lock(&table_lock);
    if (*missed)
        return NULL;
    for (uint32_t at = start_of(table, cookie); (c = table->slot[at]) != NULL;
         at = (at + 1) & (table->slots - 1))
        if (LOAD(&c->cookie) == cookie)
            break;
    spin_unlock(&table_lock);
    *missed = c && !conn_lock(c);
    if (!c || *missed)
        return NULL;
    if (c->refs > 0 && c->cookie == cookie)
        return c;
    conn_unlock(c);
    return NULL;
}
