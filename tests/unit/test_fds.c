/* SPDX-License-Identifier: MIT
 *
 * The table of descriptors and the pool of connections.
 */
#include <string.h>

#include "config.h"
#include "fds.h"
#include "buffered.h"
#include "unit.h"

static bool missed;

static struct conn *created(int fd) {
    struct conn *c = fds_create(fd, ORIGIN_SOCKET);
    cr_assert(c, "no memory for descriptor %d", fd);
    conn_unlock(c);
    return c;
}

/* As the shim closes: lock, leave, release. */
static void close_last(struct conn *c, int fd) {
    ASSERT(conn_lock(c));
    fds_unlink(c, fd);
    cr_assert(c->refs == 0, "%d is not the last descriptor", fd);
    fds_release(c);
}

static int in_use(void) {
    int counted = 0;
    FDS_EACH(c) {
        EXPECT(c->refs > 0);
        EXPECT(lock_is_mine(&c->lock));
        counted++;
    }
    return counted;
}

/* ---- words --------------------------------------------------------------- */

Test(fds, unknown_everywhere_at_first) {
    static const int descriptors[] = {0, 1, 2, 3, 1023, 1024, 65535, FDS_LIMIT - 1};
    for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++) {
        EXPECT_INT("word", fds_word(descriptors[i]), FDS_UNKNOWN);
        EXPECT(fds_lock(descriptors[i]) == NULL);
    }
    EXPECT_INT("nothing seen", fds_high(), 0);
    EXPECT_INT("no connection", in_use(), 0);
}

Test(fds, tags) {
    static const uintptr_t tags[] = {FDS_OTHER, FDS_FILE, FDS_NO_SOCKET, FDS_UNKNOWN};
    for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
        EXPECT(fds_set(7, tags[i]));
        EXPECT_INT("word", fds_word(7), tags[i]);
        cr_expect(fds_conn(fds_word(7)) == NULL, "tag %zu is no connection", i);
        EXPECT(fds_lock(7) == NULL);
    }
    EXPECT(self.depth == 0);
}

/* A number outside the table passes through: the library assumes that it may block. */
Test(fds, beyond_the_limit) {
    static const int descriptors[] = {-1, -2, INT32_MIN, FDS_LIMIT, FDS_LIMIT + 1, INT32_MAX};
    for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++) {
        int fd = descriptors[i];
        EXPECT_INT("word", fds_word(fd), FDS_OTHER);
        cr_expect(!fds_set(fd, FDS_FILE), "%d", fd);
        EXPECT_INT("still", fds_word(fd), FDS_OTHER);
        cr_expect(fds_create(fd, ORIGIN_SOCKET) == NULL, "%d", fd);
        fds_forget(fd);
    }
    EXPECT_INT("nothing seen", fds_high(), 0);
    EXPECT_INT("no connection is lost to them", in_use(), 0);
    EXPECT_INT("depth", self.depth, 0);
}

Test(fds, grows_by_pages) {
    static const int descriptors[] = {0, 1023, 1024, 5000, 999999, FDS_LIMIT - 1};
    for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++) {
        struct conn *c = created(descriptors[i]);
        EXPECT(fds_conn(fds_word(descriptors[i])) == c);
        EXPECT_INT("high", fds_high(), descriptors[i] + 1);
    }
    EXPECT_INT("all are there", in_use(), ARRAY_SIZE(descriptors));
    EXPECT_INT("a neighbour", fds_word(1022), FDS_UNKNOWN);
    cr_expect(fds_pages[2] == NULL, "a page without need");
    close_last(fds_conn(fds_word(1024)), 1024);
    EXPECT_INT("high stays", fds_high(), FDS_LIMIT);
}

Test(fds, forgetting_the_unknown_maps_nothing) {
    EXPECT(fds_set(3000, FDS_UNKNOWN));
    fds_forget(4000);
    EXPECT(!fds_pages[2] && !fds_pages[3]);
    EXPECT_INT("high", fds_high(), 0);
}

Test(fds, alignment_leaves_room_for_tags) {
    for (int fd = 3; fd < 600; fd++) {
        uintptr_t word = (uintptr_t)created(fd);
        ASSERT(word > FDS_LAST_TAG && word % 64 == 0);
    }
}

/* ---- creation --------------------------------------------------------------- */

Test(fds, creation) {
    struct conn *c = fds_create(9, ORIGIN_ACCEPTED);
    ASSERT(c);
    EXPECT_INT("locked", self.depth, 1);
    EXPECT_INT("fd", c->fd, 9);
    EXPECT_INT("refs", c->refs, 1);
    EXPECT_INT("origin", c->origin, ORIGIN_ACCEPTED);
    EXPECT_INT("epoch", c->epoch, 0);
    EXPECT(!c->held && !c->buffer && c->cookie == 0 && !c->filters_applied);
    conn_unlock(c);
    EXPECT_INT("unlocked", self.depth, 0);
    EXPECT(fds_lock(9) == c);
    conn_unlock(c);
}

/* A close that we could not see: the next creation starts afresh. */
Test(fds, creation_over_a_stale_word) {
    struct conn *stale = created(5);
    stale->policy.bursty = true;
    cookies_note(stale, 99);
    stale->counts.writes = 7;
    struct conn *c = created(5);
    EXPECT(!c->policy.bursty && c->cookie == 0 && c->counts.writes == 0);
    EXPECT_INT("one connection", in_use(), 1);
    EXPECT(fds_conn(fds_word(5)) == c);
    EXPECT(cookies_find(99, &missed) == NULL);
}

Test(fds, creation_over_a_stale_copy_leaves_the_others) {
    struct conn *stale = created(5);
    ASSERT(conn_lock(stale));
    fds_share(stale, 6);
    conn_unlock(stale);
    struct conn *c = created(5);
    ASSERT(c != stale);
    EXPECT_INT("refs", stale->refs, 1);
    EXPECT_INT("its descriptor", stale->fd, 6);
    EXPECT_INT("two connections", in_use(), 2);
}

Test(fds, creation_over_a_tag) {
    fds_set(5, FDS_FILE);
    struct conn *c = created(5);
    EXPECT(fds_conn(fds_word(5)) == c);
}

/* Two threads meet one descriptor.  The second one gets the connection of the first, and returns its own
 * place to the pool. */
Test(fds, the_loser_of_a_meeting_returns_to_the_pool) {
    bool first;
    struct conn *c = fds_adopt(5, &first);
    ASSERT(c && first);
    conn_unlock(c);
    EXPECT(fds_adopt(5, &first) == c);
    EXPECT(!first);
    ASSERT(self.depth == 1); /* its lock alone */
    conn_unlock(c);
    EXPECT_INT("one connection", in_use(), 1);
    EXPECT(created(6) == c + 1); /* the place returned last is taken first */
}

/* ---- copies ---------------------------------------------------------------- */

Test(fds, copies_share_one_connection) {
    struct conn *c = created(5);
    ASSERT(conn_lock(c));
    fds_share(c, 8);
    fds_share(c, 2000);
    EXPECT_INT("refs", c->refs, 3);
    conn_unlock(c);
    EXPECT(fds_lock(2000) == c);
    fds_unlink(c, 5);
    EXPECT_INT("refs", c->refs, 2);
    EXPECT_INT("the newest copy stands for it", c->fd, 2000);
    fds_unlink(c, 2000);
    EXPECT_INT("found by looking", c->fd, 8);
    EXPECT_INT("refs", c->refs, 1);
    conn_unlock(c);
    EXPECT_INT("gone", fds_word(5), FDS_UNKNOWN);
    EXPECT_INT("gone", fds_word(2000), FDS_UNKNOWN);
    close_last(c, 8);
    EXPECT_INT("none left", in_use(), 0);
}

Test(fds, a_copy_beyond_the_limit_is_not_counted) {
    struct conn *c = created(5);
    ASSERT(conn_lock(c));
    fds_share(c, FDS_LIMIT);
    EXPECT_INT("refs", c->refs, 1);
    conn_unlock(c);
}

Test(fds, forget) {
    struct conn *c = created(5);
    ASSERT(conn_lock(c));
    fds_share(c, 6);
    conn_unlock(c);
    fds_forget(5);
    EXPECT_INT("word", fds_word(5), FDS_UNKNOWN);
    EXPECT_INT("refs", c->refs, 1);
    fds_forget(6);
    EXPECT_INT("none left", in_use(), 0);
    fds_set(6, FDS_OTHER);
    fds_forget(6);
    EXPECT_INT("a tag too", fds_word(6), FDS_UNKNOWN);
    EXPECT_INT("depth", self.depth, 0);
}

/* ---- the pool ---------------------------------------------------------------- */

Test(fds, the_pool_is_used_again) {
    struct conn *first = created(5);
    close_last(first, 5);
    EXPECT_INT("released", first->refs, 0);
    struct conn *second = created(17);
    EXPECT(first == second);
    EXPECT_INT("afresh", second->fd, 17);
    for (int i = 0; i < 10000; i++) {
        struct conn *c = created(5);
        ASSERT(c != second);
        close_last(c, 5);
    }
    EXPECT_INT("ten thousand creations later", in_use(), 1);
}

Test(fds, many_at_once_then_none_then_many) {
    enum { MANY = 1000 };
    static struct conn *all[MANY];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            all[i] = created(i + 3);
        EXPECT_INT("many", in_use(), MANY);
        for (int i = 0; i < MANY; i++)
            for (int j = i + 1; j < i + 3 && j < MANY; j++)
                ASSERT(all[i] != all[j]);
        for (int i = 0; i < MANY; i++)
            close_last(all[i], i + 3);
        EXPECT_INT("none", in_use(), 0);
    }
}

/* The window's thread may still list it: its link survives the release and the next creation. */
Test(fds, release_keeps_the_tickers_link) {
    struct conn *next = created(6), *c = created(5);
    c->ticking = true;
    c->next_ticking = next;
    close_last(c, 5);
    EXPECT(c->ticking && c->next_ticking == next);
    struct conn *again = created(9);
    ASSERT(again == c);
    EXPECT(again->ticking && again->next_ticking == next);
}

Test(fds, release_gives_the_buffered_buffer_back) {
    struct conn *c = created(5);
    config_load(NULL, "prog");
    ASSERT(unit_buffer(c, "abc"));
    close_last(c, 5);
    EXPECT(c->buffer == NULL);
    EXPECT_INT("waiting", buffer_length(c), 0);
}

/* ---- cookies ------------------------------------------------------------------- */

/* As many as make the table grow, and then many generations of a few. */
Test(fds, by_cookie) {
    enum { MANY = 5000, GENERATIONS = 3000 };
    for (int fd = 3; fd < MANY; fd++)
        cookies_note(created(fd), (uint64_t)fd * 1000);
    for (int fd = 3; fd < MANY; fd++) {
        struct conn *c = cookies_find((uint64_t)fd * 1000, &missed);
        ASSERT(c);
        EXPECT_INT("locked", self.depth, 1);
        EXPECT_INT("fd", c->fd, fd);
        conn_unlock(c);
    }
    EXPECT(cookies_find(1, &missed) == NULL);
    for (int fd = 10; fd < MANY; fd++)
        close_last(fds_conn(fds_word(fd)), fd);
    cr_expect(cookies_find(11000, &missed) == NULL, "closed");
    for (int i = 0; i < GENERATIONS; i++) {
        cookies_note(created(10), UINT64_C(1) << 40 | (uint64_t)i);
        struct conn *c = cookies_find(UINT64_C(1) << 40 | (uint64_t)i, &missed);
        ASSERT(c);
        fds_unlink(c, 10);
        fds_release(c);
    }
    for (int fd = 3; fd < 10; fd++) {
        struct conn *c = cookies_find((uint64_t)fd * 1000, &missed);
        ASSERT(c && c->fd == fd);
        conn_unlock(c);
    }
    EXPECT_INT("unlocked", self.depth, 0);
}

Test(fds, each_holds_the_lock) {
    created(5);
    struct conn *gone = created(6);
    created(7);
    close_last(gone, 6);
    EXPECT_INT("those in use", in_use(), 2);
    EXPECT_INT("depth", self.depth, 0);
}
