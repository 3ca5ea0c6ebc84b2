/* SPDX-License-Identifier: MIT
 *
 * Finding a connection: classifying at first sight, filters, configuration.  Then the connections that are
 * cured when they are made, an io_uring's among them.
 */
#include "shim.h"

#include <fcntl.h>
#include <link.h>

/* A descriptor whose creation the library did not see costs one query (SO_PROTOCOL), and two more if it may
 * be TCP: SO_COOKIE, and SO_TYPE unless the connection is known by its cookie.  The library asks for the
 * application's options only when a decision needs them (policy.unsure). */
static struct conn *classify(int fd) {
    int protocol, type;
    uint64_t cookie = 0;
    if (fd < 0 || fd >= FDS_LIMIT || config()->no_syscalls)
        return NULL;
    int error = kernel->get_option(fd, SOL_SOCKET, SO_PROTOCOL, &protocol);
    if (error == -ENOTSOCK)
        fds_set(fd, FDS_NO_SOCKET);
    if (error == -EBADF && fd == STDERR_FILENO)
        log_stderr_is(false);
    if (error)
        return NULL;
    if (protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP) {
        fds_set(fd, FDS_OTHER);
        return NULL;
    }
    struct conn *c = NULL;
    bool missed = false;
    if (kernel->cookie(fd, &cookie) == 0 && cookie)
        c = fds_find_cookie(cookie, &missed);
    if (missed)
        return NULL; /* it stays unknown until the next call */
    if (c) {
        shim_shares(c, fd);
        return c;
    }
    /* 6 is NETLINK_XFRM, BTPROTO_HIDP, and IPPROTO_TCP of a raw socket, too, which SO_DOMAIN would not tell.
     * Of these TCP alone has streams. */
    if (kernel->get_option(fd, SOL_SOCKET, SO_TYPE, &type) != 0 || type != SOCK_STREAM) {
        fds_set(fd, FDS_OTHER);
        return NULL;
    }
    bool first;
    c = fds_adopt(fd, &first);
    if (!first)
        return c;
    fds_note_cookie(c, cookie);
    c->policy.unsure = true;
    c->policy.untracked_io = hold_is_stdio(fd);
    c->policy.mptcp = protocol == IPPROTO_MPTCP;
    return c;
}

/* Applies the filters once both addresses of the connection are known. */
static void apply_filters(struct conn *c) {
    const struct config *now = config();
    struct sockaddr_storage peer = {0}, local = {0};
    struct stats_address far = {0}, near = {0};
    if (now->port_count == 0 && now->peer_count == 0) {
        c->filters_applied = true;
        return;
    }
    if (now->no_syscalls || kernel->name(c->fd, true, &peer) != 0 || !config_address(&peer, &far))
        return; /* not connected yet */
    if (c->origin != ORIGIN_SOCKET && kernel->name(c->fd, false, &local) == 0)
        config_address(&local, &near);
    uint16_t service = c->origin == ORIGIN_ACCEPTED ? near.port : far.port;
    c->filters_applied = true;
    c->filtered = !config_includes(now, service, far.family, far.address);
    if (c->filtered && c->origin == ORIGIN_FOREIGN)
        c->filtered = !config_includes(now, near.port, far.family, far.address);
}

void shim_refresh(struct conn *c) {
    if (UNLIKELY(!c->filters_applied))
        apply_filters(c);
    if (UNLIKELY(c->epoch != config()->epoch))
        sweep_adopt(c);
    if (UNLIKELY(c->nodelay_checked != LOAD_ACQUIRE(&nodelay_epoch))) {
        hold_nodelay_uncertain(c);
        if (conn_is_shared(c))
            STORE(&c->policy.never_buffer, true);
        if (!c->listener)
            shim_nodelay_at_creation(c); /* before a fork the kernel got the application's value back */
    }
}

void shim_shares(struct conn *c, int fd) {
    fds_share(c, fd);
    if (UNLIKELY(hold_is_stdio(fd)) && !c->policy.untracked_io) {
        shim_refresh(c);
        hold_untrack(c);
    }
}

struct conn *shim_lock_fd(int fd) {
    struct conn *c = fds_lock(fd);
    if (UNLIKELY(!c)) {
        if (fds_word(fd) != FDS_UNKNOWN)
            return NULL;
        c = classify(fd);
        if (!c)
            return NULL;
    }
    if (UNLIKELY(c->epoch != config()->epoch || c->nodelay_checked != LOAD(&nodelay_epoch)))
        shim_refresh(c);
    return c;
}

/* ---- connections that get TCP_NODELAY when they are made ------------------ */

static bool rings_known; /* this process has an io_uring */

/* True: the connection gets TCP_NODELAY when it is made.  The reason is UNSTALL_NODELAY=always, an
 * io_uring, or a stdio stream on the descriptor. */
void shim_nodelay_at_creation(struct conn *c) {
    const struct config *now = config();
    if (LOAD(&rings_known))
        STORE(&c->policy.never_buffer, true); /* the ring's bytes would overtake the buffer */
    if (now->no_syscalls || !(now->always_nodelay || LOAD(&rings_known) || c->policy.untracked_io) ||
        c->policy.nodelay || c->policy.app_cork)
        return;
    shim_refresh(c);
    if (mode_cures((enum mode)c->policy.mode) && !c->policy.nodelay)
        hold_set_nodelay(c, c->fd);
}

void shim_uring(void) {
    if (!gate_enter())
        return;
    STORE(&rings_known, true);
    FDS_WALK(c, .all = true) {
        STORE(&c->policy.never_buffer, true);
        hold_push(c, PUSH_UNTRACKED);
        if (!c->listener && c->policy.established)
            shim_nodelay_at_creation(c);
    }
}

/* ---- io_uring -----------------------------------------------------------
 *
 * The library does not see bytes that pass through a ring, so its connections get TCP_NODELAY.  A call
 * syscall(SYS_io_uring_setup) shows a ring.  liburing and others make that call inline, so the library also
 * searches the process's descriptors for `anon_inode:[io_uring]`: when liburing is loaded and a connection is
 * made, or when a connection has carried no byte that the library saw, and it ends or a later one is made.
 * One search costs at most 128 readlink(2), 0.1 ms; it is made on the 1st, 2nd, 4th and 8th such occasion,
 * without a lock.  The caller must hold no connection's lock.
 */

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
           c->counts.writes == 0 && c->counts.reads == 0 && !conn_given_away(c);
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
    if (!wanted() || clock_is_call()) /* promise 6: it would be one more for each connection */
        return;
    STORE(&last, c);
    STORE(&last_at, clock_now());
}
