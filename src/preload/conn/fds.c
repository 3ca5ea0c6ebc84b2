/* SPDX-License-Identifier: MIT
 *
 * The table of descriptors and the pool of connections.
 *
 * A word of the table leads from a descriptor to its connection; pages of it are mapped on demand and
 * never go. Connections lie in chunks that never go either, and a free one keeps its lock and its
 * generation: so a stale pointer can be locked, and is then seen to be stale.  `pool_lock` guards the list
 * of free ones and the count of those ever handed out; it is taken with a connection's lock held, never
 * the other way round.
 */
#include "fds.h"

#include "config.h"
#include "reentry.h"

/* ---- the table ---------------------------------------------------------- */

/* Every process uses the lowest descriptors: their page needs no mapping. */
uintptr_t fds_first[FDS_PAGE];
uintptr_t *fds_pages[FDS_PAGES];

static int high;

/* The page of fd, mapped on demand; NULL: no memory, or no system call allowed. */
static uintptr_t *page_of(int fd) {
    if (LIKELY(fds_is_low(fd)))
        return fds_first;
    uintptr_t **slot = &fds_pages[(unsigned)fd / FDS_PAGE];
    uintptr_t *page = LOAD_ACQUIRE(slot);
    if (LIKELY(page != NULL))
        return page;
    uintptr_t *fresh = config()->no_syscalls ? NULL : raw_map(FDS_PAGE * sizeof(*page));
    if (!fresh)
        return NULL;
    if (__atomic_compare_exchange_n(slot, &page, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    raw_unmap(fresh, FDS_PAGE * sizeof(*page));
    return page;
}

static void seen_up_to(int fd) {
    int seen = LOAD(&high);
    while (fd >= seen && !REPLACE(&high, &seen, fd + 1, __ATOMIC_RELAXED))
        ;
}

bool fds_set(int fd, uintptr_t word) {
    if ((unsigned)fd >= FDS_LIMIT)
        return false;
    if (word == FDS_UNKNOWN && !fds_is_low(fd) && !LOAD_ACQUIRE(&fds_pages[(unsigned)fd / FDS_PAGE]))
        return true;
    uintptr_t *page = page_of(fd);
    if (!page)
        return false;
    STORE_RELEASE(&page[(unsigned)fd % FDS_PAGE], word);
    seen_up_to(fd);
    return true;
}

/* Sets a word that is still FDS_UNKNOWN; false: no memory, or another thread was first. */
static bool set_first(int fd, uintptr_t word) {
    uintptr_t *page = page_of(fd), none = FDS_UNKNOWN;
    if (!page || !REPLACE(&page[(unsigned)fd % FDS_PAGE], &none, word, __ATOMIC_ACQ_REL))
        return false;
    seen_up_to(fd);
    return true;
}

uintptr_t fds_swap_unknown(int fd) {
    if (fds_word(fd) == FDS_UNKNOWN || (unsigned)fd >= FDS_LIMIT)
        return FDS_UNKNOWN;
    return __atomic_exchange_n(&page_of(fd)[(unsigned)fd % FDS_PAGE], FDS_UNKNOWN, __ATOMIC_ACQ_REL);
}

int fds_high(void) {
    return LOAD(&high);
}

/* ---- the pool ----------------------------------------------------------- */

enum { POOL_CHUNK = 256, POOL_CHUNKS = FDS_LIMIT / POOL_CHUNK };

static struct conn *pool[POOL_CHUNKS];
static uint32_t pool_used; /* connections ever handed out, the free ones included */
static struct conn *pool_free;
static uint32_t pool_lock;

bool fds_any(void) {
    return LOAD(&pool_used) > 0;
}

static struct conn *struct_take(void) {
    struct conn *c = NULL;
    if (!spin_lock(&pool_lock))
        return NULL;
    if (pool_free) {
        c = pool_free;
        pool_free = c->next_free;
    } else if (pool_used < FDS_LIMIT) {
        struct conn **chunk = &pool[pool_used / POOL_CHUNK];
        if (!*chunk && !config()->no_syscalls)
            STORE_RELEASE(chunk, (struct conn *)raw_map(POOL_CHUNK * sizeof(struct conn)));
        if (*chunk) {
            c = &(*chunk)[pool_used % POOL_CHUNK];
            STORE_RELEASE(&pool_used, pool_used + 1);
        }
    }
    spin_unlock(&pool_lock);
    return c;
}

void fds_forget(int fd) {
    struct conn *stale = fds_lock(fd);
    if (!stale) {
        reentry_left(fd);
        if (fds_word(fd) != FDS_UNKNOWN)
            fds_set(fd, FDS_UNKNOWN);
        return;
    }
    fds_unlink(stale, fd);
    if (stale->refs == 0)
        fds_release(stale);
    else
        conn_unlock(stale);
}

static struct conn *take(int fd, enum conn_origin origin) {
    struct conn *c = struct_take();
    if (!c || !conn_lock(c))
        return NULL; /* the user of a stale pointer has stopped: the place is lost */
    conn_reset(c, fd, origin);
    return c;
}

struct conn *fds_create(int fd, enum conn_origin origin) {
    fds_forget(fd);
    struct conn *c = take(fd, origin);
    if (!c || fds_set(fd, (uintptr_t)c))
        return c;
    fds_release(c);
    return NULL;
}

struct conn *fds_adopt(int fd, bool *first) {
    struct conn *c = take(fd, ORIGIN_FOREIGN);
    *first = c && set_first(fd, (uintptr_t)c);
    if (!c || *first)
        return c;
    fds_release(c);
    return fds_lock(fd);
}

void fds_share(struct conn *c, int fd) {
    if (fds_word(fd) == (uintptr_t)c)
        return; /* two threads met it at the same time */
    if (!fds_set(fd, (uintptr_t)c))
        return;
    STORE(&c->refs, c->refs + 1);
    c->other_fd = fd;
}

void fds_unlink(struct conn *c, int fd) {
    fds_set(fd, FDS_UNKNOWN);
    STORE(&c->refs, c->refs - 1);
    if (c->refs == 0 || c->fd != fd)
        return;
    c->fd = c->other_fd;
    for (int end = fds_high(), n = 0; fds_word(c->fd) != (uintptr_t)c && n < end; n++)
        c->fd = n;
}

void fds_recount(struct conn *c) {
    uint32_t refs = 0;
    int one = -1;
    for (int n = 0; n < fds_high(); n++)
        if (fds_word(n) == (uintptr_t)c) {
            one = n;
            refs++;
        }
    if (fds_word(c->fd) != (uintptr_t)c)
        c->fd = one;
    STORE(&c->refs, refs);
}

void conn_free(struct conn *c) {
    conn_reset(c, -1, ORIGIN_SOCKET);
    STORE(&c->refs, 0);
    if (!spin_lock(&pool_lock))
        return;               /* the place is lost */
    c->next_free = pool_free; /* under both locks: the user of a stale pointer may read it */
    pool_free = c;
    spin_unlock(&pool_lock);
}

void fds_release(struct conn *c) {
    conn_free(c);
    conn_unlock(c);
}

bool fds_next(struct fds_walk *w) {
    if (w->c && !w->looks)
        conn_unlock(w->c);
    if (!w->c)
        w->used = LOAD_ACQUIRE(&pool_used);
    while (w->next < w->used) {
        struct conn *c = &pool[w->next / POOL_CHUNK][w->next % POOL_CHUNK];
        w->next++;
        if (LOAD(&c->refs) == 0)
            continue;
        if (!w->looks && !conn_lock(c))
            continue;
        w->c = c;
        if (w->looks || c->refs > 0)
            return true;
        conn_unlock(c);
        w->c = NULL;
    }
    return false;
}

/* ---- SO_COOKIE -> connection ----------------------------------------------- */

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

static void enter(struct table *t, struct conn *c, uint64_t cookie) {
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
            enter(wider, c, cookie);
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
        enter(table, c, cookie);
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
