/* SPDX-License-Identifier: MIT
 *
 * A link: opening, accounting, ending.
 */
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include "torture.h"

enum { SMALL_BUFFER = 8 * 1024, ANSWER_MS = 60000 };

extern int fast_port, slow_port;

static void connect_to(struct actor *a, struct link *link, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    bool early = once_in(a, 5); /* connect without blocking */
    if (early)
        set_nonblocking(a, link, true);
    if (connect(link->fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
        if (early)
            set_nonblocking(a, link, false);
        return;
    }
    if (errno != EINPROGRESS && !(errno == EINTR && alarms))
        violation(a, link, "connect: %s", strerror(errno));
    struct pollfd ready = {.fd = link->fd, .events = POLLOUT};
    while (poll(&ready, 1, ANSWER_MS) < 1)
        if (errno != EINTR)
            violation(a, link, "connect does not end");
    int error;
    socklen_t length = sizeof(error);
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error)
        violation(a, link, "connect ended with %s", strerror(error));
    if (early)
        set_nonblocking(a, link, false);
}

struct link *link_open(struct actor *a) {
    uint32_t number = __atomic_fetch_add(&shared->links, 1, __ATOMIC_RELAXED);
    if (number >= LINKS)
        violation(a, NULL, "too many links: ask for fewer operations");
    struct link *link = &shared->link[number];
    struct habits habits = habits_of(number);
    char name[NAME_BYTES];
    int small = SMALL_BUFFER;
    link->number = number;
    link->small_buffers = habits.slow;
    link->fd = socket(AF_INET, SOCK_STREAM | (once_in(a, 2) ? SOCK_CLOEXEC : 0), 0);
    if (link->fd < 0)
        violation(a, link, "socket: %s", strerror(errno));
    if (habits.slow)
        setsockopt(link->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    connect_to(a, link, habits.slow ? slow_port : fast_port);
    note(a, link, "open fd %d%s", link->fd, habits.slow ? " slow" : "");
    stream_name(number, name);
    ssize_t n;
    do
        n = send(link->fd, name, NAME_BYTES, 0);
    while (n < 0 && errno == EINTR && alarms);
    if (n != NAME_BYTES)
        violation(a, link, "the first write returned %zd", n);
    link_sent(link, NAME_BYTES);
    return link;
}

void set_nonblocking(struct actor *a, struct link *link, bool on) {
    int flags = fcntl(link->fd, F_GETFL);
    if (flags < 0 || fcntl(link->fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) != 0)
        violation(a, link, "F_SETFL: %s", strerror(errno));
    link->nonblocking = on;
}

void link_sent(struct link *link, size_t bytes) {
    uint64_t end = link->sent + bytes;
    __atomic_store_n(&link->sent, end, __ATOMIC_RELEASE);
    if (link->records >= RECORDS)
        return;
    bool kept = link->cork || link->more;
    link->record[link->records] = (struct record){end, kept ? 0 : now_ns()};
    __atomic_store_n(&link->records, link->records + 1, __ATOMIC_RELEASE);
    if (kept)
        link_keeps(link);
}

void link_keeps(struct link *link) {
    int unsent = 0;
    if (ioctl(link->fd, SIOCOUTQNSD, &unsent) != 0)
        return;
    for (uint32_t i = link->records; i-- > 0 && link->record[i].end + (uint32_t)unsent > link->sent;)
        link->record[i].when = 0;
}

void link_release(struct actor *a, struct link *link) {
    int off = 0;
    if (link->cork) {
        note(a, link, "uncork");
        if (setsockopt(link->fd, IPPROTO_TCP, TCP_CORK, &off, sizeof(off)) != 0)
            violation(a, link, "TCP_CORK=0: %s", strerror(errno));
        link->cork = false;
    }
    if (link->more) {
        link->more = false;
        put_all(a, link, 1 + below(a, 50), 0);
    }
}

uint64_t link_owed(const struct link *link) {
    struct habits habits = habits_of(link->number);
    return reply_total(&habits, link->sent) - link->got;
}

void link_settle(struct actor *a, struct link *link) {
    link_release(a, link);
    uint64_t until = now_ns() + ANSWER_MS * UINT64_C(1000000);
    while (link_owed(link) > 0) {
        struct pollfd ready = {.fd = link->fd, .events = POLLIN};
        if (link->nonblocking || once_in(a, 3))
            poll(&ready, 1, 1000);
        if (now_ns() > until)
            violation(a, link, "%llu bytes of replies do not come",
                      (unsigned long long)link_owed(link));
        take(a, link, LARGEST);
    }
}

void link_write_tail(struct actor *a, struct link *link) {
    struct habits habits = habits_of(link->number);
    for (int pieces = 1 + (int)below(a, 3); pieces > 0; pieces--) {
        uint32_t room = habits.every - 1 - (uint32_t)(link->sent % habits.every);
        if (room > 0)
            put_all(a, link, 1 + below(a, room < 600 ? room : 600), 0);
    }
}

void link_end(struct actor *a, struct link *link) {
    link_settle(a, link);
    if (!once_in(a, 4))
        link_write_tail(a, link);
    __atomic_store_n(&link->ending, CLEAN, __ATOMIC_RELEASE);
    if (once_in(a, 4)) {
        char byte;
        note(a, link, "shutdown");
        if (shutdown(link->fd, SHUT_WR) != 0)
            violation(a, link, "shutdown: %s", strerror(errno));
        if (once_in(a, 2)) {
            struct pollfd ready = {.fd = link->fd, .events = POLLIN};
            while (poll(&ready, 1, ANSWER_MS) < 0 && errno == EINTR)
                ;
            ssize_t n = recv(link->fd, &byte, 1, 0);
            if (n != 0 && !(n < 0 && errno == EINTR && alarms))
                violation(a, link, "after shutdown recv returned %zd (%s), not the end", n,
                          n < 0 ? strerror(errno) : "bytes");
        }
    }
    close_somehow(a, link);
}
