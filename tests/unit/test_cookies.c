/* SPDX-License-Identifier: MIT
 *
 * What a search by cookie costs: the connections that it looks at, not the time.  Of 8000 connections that
 * were accepted unseen, each searched all others at its first write.
 */
#include "fds.h"
#include "raw.h"
#include "lock.h"
#include "unit.h"

/* Each look at a connection's cookie reads one shared word. */
static unsigned long looks;

#undef LOAD
#define LOAD(p) (looks++, __atomic_load_n((p), __ATOMIC_RELAXED))
#include "../../src/preload/conn/fds.c"

static bool missed;

enum { FIRST = 3, FEW = 200, MANY = 8000, MOST_LOOKS = 4 };

static void noted(int from, int to, uint64_t stride) {
    for (int fd = from; fd < to; fd++) {
        struct conn *c = fds_create(fd, ORIGIN_SOCKET);
        cr_assert(c, "no memory for descriptor %d", fd);
        cookies_note(c, (uint64_t)fd * stride);
        conn_unlock(c);
    }
}

/* The mean of a search for each of them, and for as many cookies that are not known. */
static void costs_little(int to, uint64_t stride) {
    looks = 0;
    for (int fd = FIRST; fd < to; fd++) {
        struct conn *c = cookies_find((uint64_t)fd * stride, &missed);
        ASSERT(c && c->fd == fd);
        conn_unlock(c);
    }
    for (int fd = to; fd < 2 * to; fd++)
        ASSERT(cookies_find((uint64_t)fd * stride, &missed) == NULL);
    cr_expect(looks <= 2UL * (unsigned)to * MOST_LOOKS, "%d connections, each %d: %lu looks", to, (int)stride,
              looks);
    EXPECT(looks >= (unsigned)(to - FIRST)); /* they are counted */
}

static void apart_by(uint64_t stride) {
    noted(FIRST, FEW, stride);
    costs_little(FEW, stride);
    noted(FEW, MANY, stride);
    costs_little(MANY, stride);
}

Test(cookies, consecutive) {
    apart_by(1);
}

Test(cookies, of_other_sockets_in_between) {
    apart_by(1000);
}

Test(cookies, in_batches_of_a_processor) {
    apart_by(4096);
}
