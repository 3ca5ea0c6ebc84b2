/* SPDX-License-Identifier: MIT
 *
 * Creation, duplication and close of descriptors.  The library forgets a descriptor before its real close, so
 * that the kernel cannot reuse the number while it still refers to the old connection.
 */
#include <sys/resource.h>

#include "coalesce.h"
#include "evidence.h"
#include "reentry.h"

enum { TYPE_MASK = 0xf };

void shim_socket_made(int fd, int domain, int type, int protocol) {
    if (fd < 0 || !gate_enter()) {
        reentry_unlink(fd);
        return;
    }
    bool stream = (domain == AF_INET || domain == AF_INET6) && (type & TYPE_MASK) == SOCK_STREAM &&
                  (protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP);
    if (!stream) {
        fds_forget(fd);
        fds_set(fd, FDS_OTHER);
        return;
    }
    struct conn *c = fds_create(fd, ORIGIN_SOCKET);
    if (!c)
        return;
    c->policy.mptcp = protocol == IPPROTO_MPTCP;
    c->policy.untracked_io = hold_is_stdio(fd);
    c->nodelay_checked = LOAD(&nodelay_epoch);
    conn_unlock(c);
}

void shim_listens(int fd) {
    if (!gate_enter())
        return;
    shim_tally_catch_up();
    struct conn *c = fds_lock(fd);
    if (!c)
        return;
    c->listener = true;
    hold_restore(c); /* set for a stdio stream: accepted sockets would inherit TCP_NODELAY */
    conn_unlock(c);
}

void shim_accepted(int listener, int fd) {
    if (fd < 0 || !gate_enter()) {
        reentry_unlink(fd);
        return;
    }
    shim_tally_catch_up();
    rings_before_connection();
    struct conn *l = shim_lock_fd(listener);
    if (!l) {
        uintptr_t word = fds_word(listener);
        fds_forget(fd);
        if (word == FDS_OTHER)
            fds_set(fd, FDS_OTHER); /* a listener that is not TCP, such as AF_UNIX */
        return;
    }
    /* Accepted sockets inherit TCP_NODELAY and TCP_CORK as the listener had them at the
     * handshake.  If an option was ever set on the listener, or that is not known, the
     * library must ask for the accepted socket's options (policy.unsure). */
    const uint32_t facts = l->policy.facts;
    uint8_t endpoint = endpoint_of_listener(l);
    conn_unlock(l);
    struct conn *c = fds_create(fd, ORIGIN_ACCEPTED);
    if (!c)
        return;
    c->policy.facts = facts & POLICY_FACTS(.app_nodelay = true, .app_cork = true, .nodelay = true,
                                           .mptcp = true, .never_hold = true);
    c->policy.unsure = (facts & POLICY_FACTS(.unsure = true, .had_option = true)) != 0;
    c->policy.established = true;
    c->policy.untracked_io = hold_is_stdio(fd);
    endpoint_join(c, endpoint);
    c->nodelay_checked = LOAD(&nodelay_epoch);
    evidence_begin(c);
    shim_nodelay_at_creation(c);
    rings_made(c);
    conn_unlock(c);
}

struct call shim_connect_begins(int fd) {
    struct call call = {0};
    if (!gate_enter())
        return call;
    hold_end_turn(PUSH_WAIT);
    if (fds_conn(fds_word(fd)))
        shim_tally_catch_up();
    struct conn *c = fds_lock(fd);
    if (!c)
        return call_on(fd);
    call = call_of(c);
    if (hold_push_all(c, PUSH_CLOSE)) /* connect(AF_UNSPEC) drops unsent bytes */
        conn_unlock(c);
    return call;
}

/* The kernel has dropped the connection, with what was not sent and with its error.  The next one begins
 * anew.  The kernel's counts of bytes begin anew, too, but not ours: they are not compared any more. */
static void forget_stream(struct conn *c) {
    policy_disconnected(&c->policy);
    STORE(&c->pending_error, 0);
    if (c->buffer && !c->draining)
        buffer_free(c);
    STORE(&c->held, false);
    c->origin = ORIGIN_FOREIGN;
}

void shim_connect_ended(struct call call, int result, const struct sockaddr *address, socklen_t length) {
    struct conn *c = call.conn;
    if (!c || (result != 0 && errno != EINPROGRESS))
        return;
    rings_before_connection();
    if (!call_lock(call)) {
        if (!call_is_stale(call))
            reentry_set_aside(c, ASIDE_NEW, 0);
        return;
    }
    bool undone = address->sa_family == AF_UNSPEC; /* dissolves the connection: connect(2) */
    if (undone)
        forget_stream(c);
    else
        policy_established(&c->policy);
    c->policy.established = result == 0 && !undone;
    endpoint_join(c, endpoint_of_destination(address, length));
    evidence_begin(c);
    shim_nodelay_at_creation(c);
    rings_made(c);
    conn_unlock(c);
}

static int rest_of_shutdown(int how) {
    return how == SHUT_RDWR ? SHUT_RD : SHIM_SHUT_LATER;
}

/* The lock cannot be had, and its holder may have bytes in the buffer. */
static int shuts_aside(int fd, int how) {
    struct conn *c = ours_aside() && !config()->no_syscalls ? fds_conn(fds_word(fd)) : NULL;
    struct sockaddr_storage peer;
    if (!c)
        return how;
    bool later = aside_may_stand_behind(c) && kernel->name(fd, true, &peer) == 0;
    reentry_set_aside(c, later ? ASIDE_SHUT | ASIDE_SHUTS : ASIDE_SHUT, 0);
    return later ? rest_of_shutdown(how) : how;
}

int shim_shuts(int fd, int how) {
    struct conn *outer = NULL, *c;
    hold_end_turn(PUSH_CLOSE);
    if (how != SHUT_WR && how != SHUT_RDWR)
        return how;
    c = gate_enter() ? fds_lock(fd) : reentry_lock(fd, &outer);
    if (!c)
        return shuts_aside(fd, how);
    hold_push(c, PUSH_CLOSE);
    if (buffer_length(c) && !window_watch(c) && !hold_push_all(c, PUSH_CLOSE)) {
        self.locked = outer;
        return shuts_aside(fd, how);
    }
    if (buffer_length(c)) {
        buffer_shut(c);
        how = rest_of_shutdown(how);
    }
    policy_refuses(&c->policy);
    conn_unlock(c);
    self.locked = outer;
    return how;
}

/* ---- close ----------------------------------------------------------- */

/* The lock cannot be had.  Its holder may have bytes in the buffer, or put some there: after the last number
 * they leave by a descriptor of our own, which the window's thread closes. */
static void close_aside(int fd) {
    int other;
    struct conn *c = reentry_unlink_begins(fd, &other);
    if (!c)
        return;
    bool kept = other < 0 && (conn_has_aside(c) || (aside_may_stand_behind(c) && !LOAD(&c->held)));
    if (kept && window_state() != WINDOW_RUNS)
        window_decide(true, 1);
    int own = kept ? kernel->dup_above(fd, CLOSE_LOWEST) : -1;
    if (own >= 0 && fds_set(own, (uintptr_t)c)) {
        STORE(&c->lingering, true);
        other = own;
    }
    REPLACE(&c->fd, &fd, other, __ATOMIC_RELAXED);
    reentry_set_aside(c, ASIDE_NUMBERS, 0);
}

static void close_connection(struct conn *c, int fd) {
    hold_push(c, PUSH_CLOSE);
    /* Other holders of the socket must not inherit our TCP_NODELAY as the application's choice.  Such a
     * holder is another process, or this process by a duplicate made before the library knew this descriptor.
     * After a fork since, a passed connection stays as it is: a child knows it, and may have set its own
     * option. */
    bool others =
        (c->passed && c->forks == LOAD(&forks_made)) || (c->origin == ORIGIN_FOREIGN && !c->shared);
    if (others && c->refs == 1 && !config()->no_syscalls)
        hold_restore(c);
    enum close_lingers lingers =
        c->refs == 1 && buffer_length(c) ? close_lingers(c, fd) : CLOSE_ENDS;
    if (lingers == CLOSE_UNLOCKED)
        close_aside(fd);
    if (lingers == CLOSE_LINGERS)
        conn_unlock(c);
    if (lingers != CLOSE_ENDS)
        return;
    fds_unlink(c, fd);
    if (c->refs > 0) {
        conn_unlock(c);
        return;
    }
    bool silent = rings_are_suspected(c);
    close_ends(c, fd);
    if (UNLIKELY(silent))
        rings_look();
}

static void close_beneath(int fd) {
    struct conn *outer, *c = reentry_lock(fd, &outer);
    if (c && !self.spinning) {
        close_connection(c, fd);
        self.locked = outer;
        return;
    }
    if (c)
        hold_push(c, PUSH_CLOSE);
    if (!c || buffer_length(c))
        close_aside(fd);
    else
        reentry_unlink(fd);
    if (c) {
        conn_unlock(c);
        self.locked = outer;
    }
}

void shim_closing(int fd) {
    if (UNLIKELY(!gate_enter())) {
        close_beneath(fd);
        return;
    }
    uintptr_t word = fds_word(fd);
    if (UNLIKELY(fd == STDERR_FILENO))
        log_stderr_is(false);
    if (self.turn && word != FDS_FILE)
        hold_end_turn(PUSH_CLOSE);
    if (word == FDS_UNKNOWN)
        return;
    struct conn *c = fds_lock(fd);
    if (c)
        close_connection(c, fd);
    else if (fds_conn(fds_word(fd)))
        close_aside(fd);
    else
        fds_set(fd, FDS_UNKNOWN);
}

/* True: fd is ours, of a connection that was closed. */
static bool lingers(int fd) {
    const struct conn *c = gate_enter() || ours_aside() ? fds_conn(fds_word(fd)) : NULL;
    return c && LOAD(&c->lingering);
}

void shim_closing_range(unsigned first, unsigned last) {
    hold_end_turn(PUSH_CLOSE);
    unsigned end = (unsigned)fds_high();
    for (unsigned fd = first; fd < end && fd <= last; fd++)
        if (!lingers((int)fd))
            shim_closing((int)fd);
}

bool shim_spared(unsigned first, unsigned last, unsigned *spared) {
    unsigned end = (unsigned)fds_high();
    for (unsigned fd = first; fd < end && fd <= last; fd++) {
        if (!lingers((int)fd))
            continue;
        *spared = fd;
        return true;
    }
    return false;
}

/* ---- duplication ------------------------------------------------------- */

void shim_given(int fd) {
    struct conn *c = fds_conn(fds_word(fd));
    if (!c)
        return;
    STORE(&c->given, true);
    __atomic_add_fetch(&nodelay_epoch, 1, __ATOMIC_RELEASE);
    hold_end_turn(PUSH_PROCESS);
}

int shim_duplicated(int fd, int copy) {
    if (copy < 0 || copy == fd || !gate_enter()) {
        if (self.vforked && copy >= 0)
            shim_given(fd);
        if (copy != fd)
            reentry_unlink(copy);
        return copy;
    }
    if (UNLIKELY(copy == STDERR_FILENO))
        log_stderr_is(true);
    fds_forget(copy);
    struct conn *c = fds_lock(fd);
    if (!c) {
        uintptr_t word = fds_word(fd);
        if (word != FDS_UNKNOWN && fds_set(copy, word) && fds_conn(word))
            reentry_set_aside(fds_conn(word),
                              ASIDE_NUMBERS | (hold_is_stdio(copy) ? ASIDE_APART : 0), 0);
        return copy;
    }
    shim_shares(c, copy);
    conn_unlock(c);
    return copy;
}

/* dup2(2) refuses a number beyond RLIMIT_NOFILE, even one opened before the limit was lowered. */
static bool within_limit(int fd) {
    struct rlimit64 limit = {0};
    return raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) == 0 && (rlim64_t)fd < limit.rlim_cur;
}

void shim_replacing(int fd, int copy) {
    if (fd == copy || (!gate_enter() && !ours_aside()))
        return;
    hold_end_turn(PUSH_CLOSE);
    if (fds_word(copy) <= FDS_LAST_TAG || config()->no_syscalls ||
        (kernel->descriptor_flags(fd) >= 0 && within_limit(copy)))
        shim_closing(copy);
}

/* ---- untracked ------------------------------------------------------------ */

/* Untracked writes must not overtake what is buffered.  A blocking write would have waited for room, as long
 * as it takes; so this does.  With O_NONBLOCK it waits a second.  errno is lost.  NULL: the lock cannot
 * be had again. */
static struct conn *send_before_untracked(struct conn *c, int fd) {
    const struct write_request waits = {.fd = fd, .flags = MSG_NOSIGNAL, .raw = true};
    if (!hold_push_all(c, PUSH_UNTRACKED))
        return NULL;
    for (errno = EINTR; c && errno == EINTR && buffer_length(c) && self.draining != c;) {
        errno = 0;
        if (coalesce_send_header(c, &waits) != BULK_GOES)
            c = shim_lock_fd(fd);
    }
    return c;
}

bool shim_untrack(int fd) {
    if (fd < 0 || !gate_enter())
        return true;
    int saved = errno;
    struct conn *c = shim_lock_fd(fd);
    if (c && buffer_length(c))
        c = send_before_untracked(c, fd);
    errno = saved;
    if (!c) {
        if ((c = fds_conn(fds_word(fd))) == NULL)
            return true;
        reentry_set_aside(c, ASIDE_PUSH | ASIDE_APART, 0);
        return !aside_may_stand_behind(c);
    }
    bool sent = buffer_length(c) == 0;
    hold_untrack(c);
    conn_unlock(c);
    return sent;
}
