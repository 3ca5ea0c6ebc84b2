/* SPDX-License-Identifier: MIT
 *
 * Descriptor -> connection.  A table of words that is read without a lock.  It holds FDS_LIMIT descriptors;
 * calls on higher ones pass through.
 *
 * A word is FDS_UNKNOWN (never seen, or closed), FDS_OTHER (may block, but is no TCP stream), FDS_NO_SOCKET
 * (not asked yet whether a file), FDS_FILE (regular file: never blocks), or the connection.  Words change
 * only under the connection's lock, or while no other thread can use the descriptor (just created, or about
 * to be closed); then `refs` counts it until fds_recount().
 *
 * The creation of a descriptor resets its state; a close that we could not see leaves a stale word, which the
 * next creation replaces.
 *
 * When the table or the pool cannot grow (no memory, or a filter of the program's own), the descriptor stays
 * FDS_UNKNOWN and its calls pass through.
 */
#ifndef UNSTALL_FDS_H
#define UNSTALL_FDS_H

#include "conn.h"

enum { FDS_PAGE = 1024, FDS_PAGES = 1024, FDS_LIMIT = FDS_PAGE * FDS_PAGES };

enum { FDS_UNKNOWN = 0, FDS_OTHER = 1, FDS_FILE = 2, FDS_NO_SOCKET = 3, FDS_LAST_TAG = 15 };

extern INTERNAL uintptr_t fds_first[FDS_PAGE];
extern INTERNAL uintptr_t *fds_pages[FDS_PAGES]; /* the first one is not used */

/* True: fds_first has the word of fd. */
static inline bool fds_is_low(int fd) {
    return (unsigned)fd < FDS_PAGE;
}

static inline uintptr_t fds_word(int fd) {
    if (LIKELY(fds_is_low(fd)))
        return LOAD_ACQUIRE(&fds_first[(unsigned)fd]);
    if (UNLIKELY((unsigned)fd >= FDS_LIMIT))
        return FDS_OTHER;
    uintptr_t *page = LOAD_ACQUIRE(&fds_pages[(unsigned)fd / FDS_PAGE]);
    return LIKELY(page != NULL) ? LOAD_ACQUIRE(&page[(unsigned)fd % FDS_PAGE]) : FDS_UNKNOWN;
}

static inline struct conn *fds_conn(uintptr_t word) {
    return word > FDS_LAST_TAG ? (struct conn *)word : NULL;
}

/* The connection of fd, locked, or NULL: there is none, or its lock cannot be had; then fd leads to it. */
static inline struct conn *fds_lock(int fd) {
    for (;;) {
        uintptr_t word = fds_word(fd);
        struct conn *c = fds_conn(word);
        if (!c || UNLIKELY(!conn_lock(c)))
            return NULL;
        if (LIKELY(fds_word(fd) == word))
            return c;
        conn_unlock(c);
    }
}

/* Set a word.  False: no memory for the table's page (nothing changed). */
bool fds_set(int fd, uintptr_t word);

/* fd is the first descriptor of a new connection, which is returned locked; NULL
 * without memory, or where the pool's lock cannot be had.  An earlier word is dropped. */
struct conn *fds_create(int fd, enum conn_origin origin);

/* The connection of a descriptor whose creation we did not see, locked.  It is new (`first`),
 * unless another thread has made it at the same time.  NULL: as above. */
struct conn *fds_adopt(int fd, bool *first);

/* The connection that fd leads to gets another descriptor. */
void fds_share(struct conn *c, int fd);

/* Make a word FDS_UNKNOWN without a lock, for a descriptor that no other thread can use.  Returns the earlier
 * word; its connection, if there is one, must be counted anew. */
uintptr_t fds_swap_unknown(int fd);
/* Find by their words how many descriptors lead to c, and one of them; c->fd is -1 if there is none.  Lock
 * held. */
void fds_recount(struct conn *c);

/* The lowest descriptor that leads to c, or -1. */
int fds_number_of(const struct conn *c);

/* fd leads to c no longer.  Lock held.  If c->refs is 0 afterwards, the caller ends the connection. */
void fds_unlink(struct conn *c, int fd);

/* Drop a stale word of fd: its close passed us by.  The lock is not needed. */
void fds_forget(int fd);

/* Give the connection, to which no descriptor leads, back to the pool.  Lock held. */
void fds_free(struct conn *c);
/* The same; unlocks. */
void fds_release(struct conn *c);

/* FDS_EACH(c) { ... } runs for every connection in use, with its lock held; `return` and `goto` must not
 * leave it, nor may the body give up the lock.  It leaves out a connection whose lock cannot be had, and in a
 * child, unless `all` is set, each that is as the fork has left it (fds_next). */
#define FDS_WALK(c, ...)                                           \
    for (struct fds_walk walk_ = {__VA_ARGS__}; fds_next(&walk_);) \
        for (struct conn *c = walk_.c; c; c = NULL)
#define FDS_EACH(c) FDS_WALK(c, .all = false)

/* FDS_LOOK(c) { ... } runs for every connection in use, without its lock. */
#define FDS_LOOK(c) FDS_WALK(c, .looks = true)

struct fds_walk {
    uint32_t next, used; /* in the pool */
    bool looks, all;
    struct conn *c;
};

bool fds_next(struct fds_walk *w);

/* True if there ever was a connection. */
bool fds_any(void);

/* The highest descriptor ever seen, plus one. */
int fds_high(void);

/* ---- SO_COOKIE -> connection -----------------------------------------------
 *
 * A descriptor whose creation we did not see may lead to a connection that is already known.  A hash table of
 * lists, under one short lock.  A connection that ends stays in its list: its cookie no longer matches, and
 * the next search drops it.  Without memory a connection is not entered, and its copies become connections of
 * their own.  Fork: the child gets the table as it is at that instant.
 */
/* Enter the cookie of c; 0: the socket has none.  Lock held. */
void fds_note_cookie(struct conn *c, uint64_t cookie);

/* The connection in use with this cookie, locked, or NULL.  `*missed`: there may be one, but a lock cannot be
 * had. */
struct conn *fds_find_cookie(uint64_t cookie, bool *missed);

#endif
