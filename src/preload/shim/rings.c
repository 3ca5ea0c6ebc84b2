/* SPDX-License-Identifier: MIT */
#include "shim.h"

#include <fcntl.h>
#include <link.h>

enum { NUMBERS = 128, LAST_LOOK = 8, SILENT_NS = 10000000 };

static bool liburing;      /* written only at load */
static uint32_t occasions; /* occasions to search, so far */

static int is_liburing(struct dl_phdr_info *object, size_t size, void *found) {
    (void)size;
    if (object->dlpi_name && strstr(object->dlpi_name, "/liburing.so"))
        *(bool *)found = true;
    return *(bool *)found;
}

void rings_start(void) {
    dl_iterate_phdr(is_liburing, &liburing);
}

static bool is_ring(int fd) {
    static const char ring[] = "anon_inode:[io_uring]";
    char target[sizeof(ring)];
    TEXT(path, 32);
    text_print(&path, "/proc/self/fd/%d", (long)fd);
    long length = raw4(SYS_readlinkat, AT_FDCWD, path.at, target, sizeof(target));
    return length == sizeof(ring) - 1 && memcmp(target, ring, sizeof(ring) - 1) == 0;
}

static bool ring_is_there(void) {
    for (int fd = 0; fd < NUMBERS; fd++)
        if (fds_word(fd) == FDS_UNKNOWN && is_ring(fd))
            return true;
    return false;
}

static bool wanted(void) {
    return !LOAD(&rings_known) && LOAD(&occasions) < LAST_LOOK && mode_cures(config()->mode) &&
           !config()->no_syscalls;
}

void rings_look(void) {
    if (!wanted())
        return;
    uint32_t now = __atomic_add_fetch(&occasions, 1, __ATOMIC_RELAXED);
    if ((now & (now - 1)) == 0 && ring_is_there())
        shim_uring();
}

/* A connection that a fork has shared does not count: a parent closes the connections that its child
 * serves, and a child closes those of its parent. */
bool rings_are_suspected(const struct conn *c) {
    return c->policy.established && !c->listener && !c->policy.untracked_io && !c->tried &&
           c->counts.writes == 0 && c->counts.reads == 0 && !conn_has_left(c);
}

/* ---- the newest connection --------------------------------------------- */

static struct conn *last;
static uint64_t last_at;

static bool last_is_silent(void) {
    struct conn *c = LOAD(&last);
    if (!c || clock_now() - LOAD(&last_at) < SILENT_NS || !conn_trylock(c))
        return false;
    bool silent = rings_are_suspected(c);
    conn_unlock(c);
    return silent;
}

void rings_before_connection(void) {
    if (wanted() && (liburing || last_is_silent()))
        rings_look();
}

void rings_made(struct conn *c) {
    if (!wanted())
        return;
    STORE(&last, c);
    STORE(&last_at, clock_now());
}
