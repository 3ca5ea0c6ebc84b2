/* SPDX-License-Identifier: MIT */
#include "conn.h"

#include "coalesce_buffer.h"
#include "fds.h"

uint8_t forks_made;
/* Every write reads it, so it shares its cache line with nothing that changes often. */
_Alignas(64) uint32_t nodelay_epoch;

/* In the child of a fork: drops the operations that other threads of the parent had begun, and the held and
 * buffered bytes, which the parent sends itself. */
static void repair(struct conn *c) {
    RAW_CHILD_BEGINS();
    if (c->lingering) { /* the parent sends the rest and closes; our copy would keep the socket open */
        if (buffer_is_at(c, c->fd)) /* else the child has closed it already, by raw calls */
            kernel->close(c->fd);
        fds_set(c->fd, FDS_UNKNOWN);
        STORE(&c->lingering, false);
        STORE(&c->refs, 0);
    }
    STORE(&c->aside, 0); /* the parent makes up for it */
    STORE(&c->held, false);
    STORE(&c->draining, false);
    c->ticking = false;
    c->next_ticking = NULL;
    STORE(&c->turn_owner, NULL);
    STORE(&c->turn_end, TURN_ENDS);
    c->policy.position = 0;
    c->policy.quick_turns = 0;
    STORE(&c->pending_error, 0);
    if (c->buffer)
        buffer_free(c);
    memset(&c->counts, 0, sizeof(c->counts));
    if (c->evidence)
        conn_repaired(c);
    c->shared = true;
    STORE(&c->policy.never_buffer, true);
    c->untracked_at_fork = c->policy.untracked_io;
    c->origin = ORIGIN_FOREIGN; /* the counters here lack the parent's writes */
    c->flush_blocked = false;
    RAW_CHILD_ENDS();
}

bool conn_lock_slow(struct conn *c, uint32_t seen) {
    enum lock_slow got = lock_slow(&c->lock, seen);
    if (got == LOCK_OF_PARENT)
        repair(c);
    return got != LOCK_MISSED;
}

/* Other threads read some of these words without the lock, as hints: the window's thread, a walk over the
 * pool, a search for a cookie.  memset may store single bytes, which is a data race with their loads. */
static void clear(struct conn *c) {
    typedef uint64_t __attribute__((may_alias)) word;
    _Static_assert(offsetof(struct conn, fd) % sizeof(word) == 0 && sizeof(*c) % sizeof(word) == 0, "words");
    for (word *w = (word *)&c->fd; w < (word *)(c + 1); w++)
        STORE(w, 0);
}

void conn_reset(struct conn *c, int fd, enum conn_origin origin) {
    if (c->aside)
        reentry_forget(c);
    /* a blocked thread may still send from the buffer's memory, which then stays unused */
    if (c->buffer && !c->draining)
        buffer_free(c);
    if (c->draining)
        buffer_wake_writers();
    if (c->evidence)
        conn_ends(c); /* the end of the connection may have passed us by */
    clear(c);
    c->fd = fd;
    STORE(&c->generation, (uint16_t)(c->generation + 1));
    STORE(&c->refs, 1);
    STORE(&c->times_read, 0);
    c->origin = (uint8_t)origin;
    c->forks = LOAD(&forks_made);
    STORE(&c->policy.never_buffer, origin == ORIGIN_FOREIGN);
}

/* ---- what the connections of an endpoint have learned --------------------- */

enum { ENTRIES = 256 };

struct entry {
    uint64_t key; /* hash of the endpoint */
    uint64_t model[2];
    uint16_t learned;
    uint16_t quick_turns;
    uint16_t forks; /* fork generation of the process that wrote quick_turns */
    uint16_t crosses;
};

_Static_assert(sizeof(struct turn_model) == sizeof(((struct entry *)0)->model), "as whole words");

static struct entry entries[ENTRIES];
struct endpoint_late endpoint_late[ENTRIES];

static uint8_t entry_of(uint64_t key) {
    uint8_t endpoint = (uint8_t)(1 + (key >> 16) % (ENTRIES - 1));
    struct entry *f = &entries[endpoint];
    if (LOAD(&f->key) != key) {
        STORE(&f->learned, 0);
        STORE(&f->crosses, 0);
        STORE(&f->key, key);
    }
    return endpoint;
}

uint8_t endpoint_of_listener(const struct conn *listener) {
    /* only another listener can get both the same address in the pool and the same number */
    uintptr_t key[2] = {(uintptr_t)listener, (uintptr_t)listener->fd};
    return entry_of(stats_hash(1, key, sizeof(key)));
}

uint8_t endpoint_of_destination(const struct sockaddr *address, socklen_t length) {
    if (length < sizeof(struct sockaddr_in) ||
        (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return 0;
    size_t known = address->sa_family == AF_INET ? offsetof(struct sockaddr_in, sin_zero)
                                                 : sizeof(struct sockaddr_in6);
    return length < known ? 0 : entry_of(stats_hash(2, address, known));
}

void endpoint_join(struct conn *c, uint8_t endpoint) {
    const struct entry *f = &entries[endpoint];
    c->endpoint = endpoint;
    c->policy.nodelay_only |= LOAD(&endpoint_late[endpoint].nodelay_only);
    c->policy.crosses |= LOAD(&f->crosses);
    if (!endpoint || !LOAD(&f->learned))
        return;
    uint64_t model[2] = {LOAD(&f->model[0]), LOAD(&f->model[1])};
    memcpy(&c->policy.model, model, sizeof(model));
    /* not from before a fork: a child may do other work, and must prove its own habit */
    c->policy.quick_turns = LOAD(&f->forks) == fork_generation ? (uint8_t)LOAD(&f->quick_turns) : 0;
    c->policy.bursty = c->policy.from_cache = true;
}

void endpoint_crosses(const struct conn *c) {
    if (c->endpoint)
        STORE(&entries[c->endpoint].crosses, 1);
}

void endpoint_update(const struct conn *c) {
    const struct policy *p = &c->policy;
    if (!endpoint_update_is_due(c) || !(p->nodelay_only || (p->bursty && p->input_ever)))
        return;
    struct entry *f = &entries[c->endpoint];
    uint64_t model[2];
    memcpy(model, &p->model, sizeof(model));
    STORE(&f->model[0], model[0]);
    STORE(&f->model[1], model[1]);
    STORE(&f->quick_turns, p->quick_turns);
    STORE(&f->forks, (uint16_t)fork_generation);
    STORE(&f->learned, !p->nodelay_only);
}

/* ---- the check of test builds ------------------------------------------- */

#ifdef UNSTALL_CHECKS

#include "log.h"

/* A buffer is never empty, and draining and blocked need buffered bytes.  Held and buffered occur together if
 * another thread buffers during a sendfile(2): hold_push() then releases the held bytes first.  A close
 * releases held bytes before it lingers.  A lingering connection without bytes ends when the window's thread
 * next visits it.  A struct without a descriptor is no connection and has no flag set. */
bool conn_is_legal(const struct conn *c) {
    bool buffered = buffer_length(c) > 0, sends = c->buffer || c->draining || c->flush_blocked;
    return (buffered || !sends) && !(c->held && c->lingering) &&
           (c->refs > 0 || !(buffered || c->held || c->lingering));
}

void conn_check(const struct conn *c) {
    if (LIKELY(conn_is_legal(c)))
        return;
    log_line("illegal state of a connection: held %d, lingering %d, buffered %d, draining %d, blocked %d, "
             "descriptors %d",
             (long)c->held, (long)c->lingering, (long)buffer_length(c), (long)c->draining,
             (long)c->flush_blocked, (long)c->refs);
    __builtin_trap();
}

#endif
