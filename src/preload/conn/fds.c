/* SPDX-License-Identifier: MIT
 *
 * The table of descriptors and the pool of connections.
 *
 * Pages of the table and chunks of connections are mapped on demand and never go.  A free connection keeps
 * its lock and its generation: so a stale pointer can be locked, and is then seen to be stale.  `pool_lock`
 * guards the list of free ones and the count of those ever handed out; it is taken with a connection's lock
 * held, never the other way round.
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
        reentry_unlink(fd);
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

int fds_number_of(const struct conn *c) {
    for (int n = 0; n < fds_high(); n++)
        if (fds_word(n) == (uintptr_t)c)
            return n;
    return -1;
}

void fds_unlink(struct conn *c, int fd) {
    fds_set(fd, FDS_UNKNOWN);
    STORE(&c->refs, c->refs - 1);
    if (c->refs == 0 || c->fd != fd)
        return;
    c->fd = c->other_fd;
    if (fds_word(c->fd) != (uintptr_t)c)
        c->fd = fds_number_of(c);
}

void fds_recount(struct conn *c) {
    uint32_t refs = 0;
    for (int n = 0; n < fds_high(); n++)
        refs += fds_word(n) == (uintptr_t)c;
    if (fds_word(c->fd) != (uintptr_t)c)
        c->fd = fds_number_of(c);
    STORE(&c->refs, refs);
}

void fds_free(struct conn *c) {
    conn_reset(c, -1, ORIGIN_SOCKET);
    STORE(&c->refs, 0);
    if (!spin_lock(&pool_lock))
        return;               /* the place is lost */
    c->next_free = pool_free; /* under both locks: the user of a stale pointer may read it */
    pool_free = c;
    spin_unlock(&pool_lock);
}

void fds_release(struct conn *c) {
    fds_free(c);
    conn_unlock(c);
}

/* In a child: no call has used c since the fork, and no option of ours is on the socket.  So nothing of it is
 * this process's, and its repair would copy a page: for 19 000 sockets that took each child 8 ms. */
static bool is_as_inherited(const struct conn *c) {
    const struct policy *p = &c->policy;
    return LOAD(&c->lock) >> 18 != fork_generation && (p->nodelay == p->app_nodelay || p->untracked_io);
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
        if (!w->looks && ((!w->all && is_as_inherited(c)) || !conn_lock(c)))
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

enum { BUCKETS = 512, AT_ONCE = 128 };

/* A connection had this cookie when it was entered. */
struct known {
    struct known *next; /* in its bucket, or of the free ones */
    struct conn *c;
    uint64_t cookie;
};

static struct known *buckets[BUCKETS];
static struct pool known; /* its lock is that of the buckets, too */

/* Cookies are consecutive numbers: the golden ratio spreads them (Knuth, 6.4). */
static struct known **bucket_of(uint64_t cookie) {
    return &buckets[(cookie * UINT64_C(0x9E3779B97F4A7C15) >> 32) % BUCKETS];
}

/* The connection with this cookie, or NULL.  Entries of connections that have ended leave the bucket.  A
 * handler may leave amid this by a jump, and another thread fork: each store keeps the lists whole, and they
 * stay in this order.  Lock held. */
static struct conn *look_up(uint64_t cookie) {
    for (struct known **at = bucket_of(cookie), *k; (k = *at) != NULL;)
        if (LOAD(&k->c->cookie) != k->cookie) {
            STORE(at, k->next);
            __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pool_push() writes to k->next */
            pool_push(&known, k);
        } else if (k->cookie == cookie) {
            return k->c;
        } else {
            at = &k->next;
        }
    return NULL;
}

/* The first ones need no mapping: a process with few such connections makes no call for it. */
static struct known *place(void) {
    static struct known first[AT_ONCE];
    static uint32_t taken;
    return taken < AT_ONCE ? &first[taken++] : pool_pop(&known, sizeof(*first), AT_ONCE);
}

void fds_note_cookie(struct conn *c, uint64_t cookie) {
    STORE(&c->cookie, cookie);
    if (!cookie || !spin_lock(&known.lock))
        return; /* without the lock as without memory */
    struct known *k = look_up(cookie) == c ? NULL : place();
    if (k) {
        *k = (struct known){*bucket_of(cookie), c, cookie};
        STORE_RELEASE(bucket_of(cookie), k);
    }
    spin_unlock(&known.lock);
}

struct conn *fds_find_cookie(uint64_t cookie, bool *missed) {
    *missed = !spin_lock(&known.lock);
    if (*missed)
        return NULL;
    struct conn *c = look_up(cookie);
    spin_unlock(&known.lock);
    *missed = c && !conn_lock(c);
    if (!c || *missed)
        return NULL;
    if (c->refs > 0 && c->cookie == cookie)
        return c;
    conn_unlock(c);
    return NULL;
}
