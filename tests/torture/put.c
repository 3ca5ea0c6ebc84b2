/* SPDX-License-Identifier: MIT
 *
 * Writes, and the results that they may return.
 */
#include <sys/epoll.h>
#include <sys/select.h>

#include "torture.h"

enum { FLAG_FORMS = 4, PATIENCE_MS = 60000, MOST_FULL = 600 * 1024 };

unsigned open_streams;

size_t random_size(struct actor *a) {
    static const uint32_t limits[] = {16,  16,  16,   200,  200,  536,   536,
                                      536, 1448, 4096, 4097, 20000, 65536, LARGEST};
    return 1 + below(a, limits[below(a, sizeof(limits) / sizeof(limits[0]))]);
}

/* The results that a call may return: see write(2), send(2). */
static void check_answer(struct actor *a, struct link *link, const struct piece *piece,
                         unsigned form, ssize_t n) {
    int error = errno;
    bool bulk = form + 2 >= put_form_count || form == 3; /* stop early where they like */
    if (n < 0) {
        bool may_block = !link->nonblocking && !(form < FLAG_FORMS && piece->flags & MSG_DONTWAIT);
        /* sendfile and splice look for signals also where they do not wait */
        if ((error == EAGAIN && !may_block) || (error == EINTR && alarms && (may_block || bulk)))
            return;
        violation(a, link, "form %u of %zu bytes: %s", form, piece->length, strerror(error));
    }
    bool messages = form == 3; /* the first of sendmmsg's messages may be an empty one */
    if ((size_t)n > piece->length || (n == 0 && piece->length > 0 && !messages))
        violation(a, link, "form %u of %zu bytes returned %zd", form, piece->length, n);
    bool waits = !link->nonblocking && !(form < FLAG_FORMS && piece->flags & MSG_DONTWAIT);
    if ((size_t)n < piece->length && waits && !alarms &&
        !__atomic_load_n(&had_children, __ATOMIC_ACQUIRE) && !bulk)
        violation(a, link, "form %u of %zu bytes, blocking, returned %zd", form, piece->length, n);
}

/* TORTURE_FAULT, on a link that is judged in every way. */
static void commit_fault(struct link *link) {
    struct timespec later = {.tv_nsec = 600000000};
    if (link->small_buffers || link->cork || link->more || link->nonblocking || link->sent < 500)
        return;
    if (fault == WRONG_BYTE && write(link->fd, "!", 1) == 1) {
        link_sent(link, 1);
    } else if (fault == LATE_BYTE) {
        link_sent(link, 1);
        nanosleep(&later, NULL);
        if (write(link->fd, stream_at(link->number, link->sent - 1), 1) != 1)
            return;
    } else if (fault == LOST_BYTE) {
        link->claimed = 1;
    } else if (fault == HANG) {
        for (;;)
            pause();
    } else {
        return;
    }
    fault = NO_FAULT;
}

size_t put_once(struct actor *a, struct link *link, size_t bytes, int flags) {
    if (bytes > LARGEST)
        bytes = LARGEST;
    if (fault)
        commit_fault(link);
    struct piece piece = {stream_at(link->number, link->sent),
                          stream_place(link->number, link->sent), bytes, flags};
    unsigned form = below(a, flags ? FLAG_FORMS : put_form_count);
    if (flags & MSG_MORE)
        link->more = true; /* before the call: a signal handler's eyes */
    ssize_t n = put_forms[form](a, link->fd, &piece);
    int error = errno;
    note(a, link, "put %u %zu@%llu %x = %zd %s", form, bytes, (unsigned long long)link->sent,
         (unsigned)flags, n, n < 0 ? strerrorname_np(error) : "");
    errno = error;
    check_answer(a, link, &piece, form, fault == WRONG_RETURN ? n + 1000000 : n);
    errno = n < 0 ? error : 0;
    if (n <= 0)
        return 0;
    if (!(flags & MSG_MORE))
        link->more = false;
    link_sent(link, (size_t)n);
    return (size_t)n;
}

/* A full buffer: wait as programs do. */
void wait_writable(struct actor *a, struct link *link) {
    int result = 0;
    uint32_t how = below(a, 4);
    if (how == 0) {
        fd_set set;
        struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
        FD_ZERO(&set);
        FD_SET(link->fd, &set);
        result = select(link->fd + 1, NULL, &set, NULL, &patience);
    } else if (how == 1) {
        int ep = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event event = {.events = EPOLLOUT | (once_in(a, 2) ? EPOLLET : 0U)};
        epoll_ctl(ep, EPOLL_CTL_ADD, link->fd, &event);
        result = epoll_wait(ep, &event, 1, PATIENCE_MS);
        int error = errno;
        close(ep);
        errno = error;
    } else {
        struct pollfd ready = {.fd = link->fd, .events = (short)(how == 2 ? POLLOUT : POLLOUT | POLLIN)};
        if (how == 3 && link_owed(link) > 0)
            ready.events = POLLOUT;
        result = poll(&ready, 1, PATIENCE_MS);
    }
    if (result < 0 && errno != EINTR) /* also by a signal of another thread's system(): signal(7) */
        violation(a, link, "waiting for room: %s", strerror(errno));
    if (result == 0)
        violation(a, link, "no room in the send buffer after %d ms", PATIENCE_MS);
}

void put_all(struct actor *a, struct link *link, size_t bytes, int flags) {
    while (bytes > 0) {
        size_t n = put_once(a, link, bytes, flags);
        bytes -= n < bytes ? n : bytes;
        if (n == 0 && (link->nonblocking || flags & MSG_DONTWAIT))
            wait_writable(a, link);
    }
}

void op_put(struct actor *a, struct link *link) {
    size_t bytes = random_size(a);
    int flags = 0;
    if (link->small_buffers && bytes > 30000)
        bytes = 30000;
    if (once_in(a, 8))
        flags |= MSG_MORE;
    if (once_in(a, 8))
        flags |= MSG_DONTWAIT;
    if (once_in(a, 8))
        flags |= MSG_NOSIGNAL;
    put_all(a, link, bytes, flags);
}

/* The writes that stall: a few small pieces, then the next operation. */
void op_put_small(struct actor *a, struct link *link) {
    for (int pieces = 2 + (int)below(a, 4); pieces > 0; pieces--)
        put_all(a, link, 1 + below(a, once_in(a, 4) ? 1500 : 200), once_in(a, 6) ? MSG_DONTWAIT : 0);
}

void op_put_nothing(struct actor *a, struct link *link) {
    ssize_t n = once_in(a, 2) ? write(link->fd, "", 0) : send(link->fd, "", 0, MSG_NOSIGNAL);
    note(a, link, "put nothing = %zd", n);
    if (n != 0)
        violation(a, link, "a write of nothing returned %zd: %s", n, strerror(errno));
}

/* An edge-triggered loop: write until EAGAIN, wait for the edge, some rounds. */
void op_put_edge_triggered(struct actor *a, struct link *link) {
    int ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLOUT | EPOLLET};
    bool before = link->nonblocking;
    size_t total = 0, most = link->small_buffers ? 60000 : MOST_FULL;
    int rounds = 1 + (int)below(a, 3);
    uint64_t until = now_ns() + PATIENCE_MS * UINT64_C(1000000);
    set_nonblocking(a, link, true);
    if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, link->fd, &event) != 0)
        violation(a, link, "epoll: %s", strerror(errno));
    note(a, link, "edge-triggered");
    while (rounds-- > 0 && total < most) {
        int n;
        do
            n = epoll_wait(ep, &event, 1, PATIENCE_MS);
        while (n < 0 && errno == EINTR && now_ns() < until);
        if (n != 1)
            violation(a, link, "no edge after EAGAIN: epoll_wait returned %d (%s)", n,
                      n < 0 ? strerror(errno) : "in time");
        size_t accepted;
        do {
            accepted = put_once(a, link, random_size(a), 0);
            total += accepted;
        } while ((accepted > 0 || errno != EAGAIN) && total < most);
    }
    close(ep);
    set_nonblocking(a, link, before);
}

/* stdio on a copy of the descriptor. */
void op_put_stdio(struct actor *a, struct link *link) {
    if (a->child || link->nonblocking || alarms)
        return; /* stdio gives up at EAGAIN and EINTR, malloc is for parents */
    int copy = dup(link->fd);
    FILE *stream = fdopen(copy, "w");
    __atomic_add_fetch(&open_streams, 1, __ATOMIC_SEQ_CST);
    size_t bytes = 1 + below(a, once_in(a, 3) ? 9000 : 300);
    if (!stream)
        violation(a, link, "fdopen: %s", strerror(errno));
    note(a, link, "stdio %zu@%llu", bytes, (unsigned long long)link->sent);
    size_t n = fwrite(stream_at(link->number, link->sent), 1, bytes, stream);
    if (n != bytes || (once_in(a, 2) && fflush(stream) != 0) || fclose(stream) != 0)
        violation(a, link, "stdio: %s", strerror(errno));
    link->more = false;
    link_sent(link, bytes);
    if (once_in(a, 2)) { /* dprintf(3) has a stream of its own, which exit(3) of a child flushes, too */
        bytes = 1 + below(a, 200);
        note(a, link, "dprintf %zu@%llu", bytes, (unsigned long long)link->sent);
        int printed = dprintf(link->fd, "%.*s", (int)bytes, stream_at(link->number, link->sent));
        if (printed != (int)bytes)
            violation(a, link, "dprintf of %zu bytes returned %d", bytes, printed);
        link_sent(link, bytes);
    }
    __atomic_sub_fetch(&open_streams, 1, __ATOMIC_SEQ_CST);
}
