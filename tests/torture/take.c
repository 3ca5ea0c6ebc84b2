/* SPDX-License-Identifier: MIT
 *
 * Reads and exchanges.
 */
#include <sys/uio.h>

#include "torture.h"

static ssize_t read_somehow(struct actor *a, int fd, char *buffer, size_t bytes) {
    struct iovec parts[2] = {{buffer, bytes / 2}, {buffer + bytes / 2, bytes - bytes / 2}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    switch (below(a, 6)) {
    case 0:
        return read(fd, buffer, bytes);
    case 1:
        return recvfrom(fd, buffer, bytes, 0, NULL, NULL);
    case 2:
        return readv(fd, parts, 2);
    case 3:
        return recvmsg(fd, &message, 0);
    case 4:
        return recv(fd, buffer, bytes, MSG_DONTWAIT);
    default:
        return recv(fd, buffer, bytes, 0);
    }
}

size_t take(struct actor *a, struct link *link, size_t most) {
    static _Thread_local char buffer[LARGEST];
    uint64_t owed = link_owed(link);
    if (owed == 0)
        return 0; /* a blocking read would not come back */
    if (most > owed)
        most = owed;
    if (most > sizeof(buffer))
        most = sizeof(buffer);
    ssize_t n = read_somehow(a, link->fd, buffer, most);
    note(a, link, "take %zu@%llu = %zd %s", most, (unsigned long long)link->got, n,
         n < 0 ? strerrorname_np(errno) : "");
    if (n < 0 && (errno == EAGAIN || (errno == EINTR && alarms)))
        return 0;
    if (n <= 0)
        violation(a, link, "a read of %zu bytes returned %zd: %s", most, n, strerror(errno));
    if (memcmp(buffer, reply_at(link->number, link->got), (size_t)n) != 0)
        violation(a, link, "replies are wrong at byte %llu", (unsigned long long)link->got);
    link->got += (uint64_t)n;
    return (size_t)n;
}

void op_take(struct actor *a, struct link *link) {
    if (!once_in(a, 16))
        link_release(a, link);
    take(a, link, 1 + below(a, LARGEST - 1));
}

void op_peek(struct actor *a, struct link *link) {
    char buffer[100];
    uint64_t owed = link_owed(link);
    size_t most = owed < sizeof(buffer) ? owed : sizeof(buffer);
    if (most == 0)
        return;
    ssize_t n = recv(link->fd, buffer, most, MSG_PEEK | (once_in(a, 2) ? MSG_DONTWAIT : 0));
    note(a, link, "peek %zu@%llu = %zd", most, (unsigned long long)link->got, n);
    if (n < 0 && (errno == EAGAIN || (errno == EINTR && alarms)))
        return;
    if (n <= 0)
        violation(a, link, "MSG_PEEK returned %zd: %s", n, strerror(errno));
    if (memcmp(buffer, reply_at(link->number, link->got), (size_t)n) != 0)
        violation(a, link, "peeked replies are wrong at byte %llu", (unsigned long long)link->got);
}

/* A request in pieces, up to where the peer answers, and its answer. */
void op_exchange(struct actor *a, struct link *link) {
    struct habits habits = habits_of(link->number);
    for (int rounds = 1 + (int)below(a, 4); rounds > 0; rounds--) {
        size_t left = habits.every - link->sent % habits.every;
        for (int pieces = (int)below(a, 4); pieces > 0 && left > 1; pieces--) {
            size_t part = 1 + below(a, (uint32_t)left - 1);
            put_all(a, link, part, 0);
            left = habits.every - link->sent % habits.every;
            if (once_in(a, 4)) {
                struct pollfd ready = {.fd = link->fd, .events = POLLIN | POLLOUT};
                poll(&ready, 1, once_in(a, 2) ? 0 : 5);
            }
        }
        put_all(a, link, left, 0);
        link_settle(a, link);
    }
}
