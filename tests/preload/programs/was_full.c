/* SPDX-License-Identifier: MIT
 *
 * Exchanges with a poll between header and body, then the send buffer is filled, and a new turn
 * begins with small writes that answer EAGAIN, and goes on with a poll.  The peer does not read
 * meanwhile.  The facts: successful calls that a library can see (`writes`) and their bytes (`seen`), and all
 * bytes (`bytes`).
 */
#include "client.h"

enum { BIG = 65536, FAILING = 20, SMALL = 30 };

static void exchange(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN | POLLOUT};
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(poll(&ready, 1, 1000) == 1);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

static char data[64 * BIG];

/* Writes until nothing more goes in; gives the number of writes.  Large ones alone: they do not stall. */
static int fill_up(int fd, size_t *at)
{
    int writes = 0;
    for (size_t piece = BIG; piece > 0;) {
        ssize_t n = *at + piece <= sizeof data ? write(fd, data + *at, piece) : -1;
        *at += n > 0 ? (size_t)n : 0;
        writes += n > 0;
        if (n < 0) piece = piece == BIG ? 5000 : 0;
    }
    return writes;
}

/* The same, unseen, until the peer has no room either. */
static void fill_peer_unseen(int fd, size_t *at)
{
    for (size_t before = 0; before != *at;) {
        before = *at;
        await_settled(fd);
        for (long n; (n = raw_call(SYS_sendto, fd, (long)(data + *at), BIG, MSG_DONTWAIT, 0)) > 0;) {
            *at += (size_t)n;
            CHECK(*at < sizeof data / 2);
        }
    }
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), small = 4096, writes = 2 * client.count;
    size_t at = (size_t)client.count * sizeof message;
    fill(data, sizeof data, 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    for (int i = 0; i < client.count; i++) {
        next_message(i);
        exchange(fd);
    }
    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    writes += fill_up(fd, &at);
    size_t seen = at;
    fill_peer_unseen(fd, &at);

    struct pollfd room = {.fd = fd, .events = POLLOUT};
    mark(BEGIN);
    usleep(2000); /* the end of the turn */
    for (int i = 0; i < FAILING; i++) CHECK(write(fd, data + at, SMALL) == -1 && errno == EAGAIN);
    CHECK(poll(&room, 1, 10) == 0);
    room.events = POLLIN | POLLOUT;
    CHECK(write(fd, data + at, SMALL) == -1 && errno == EAGAIN);
    CHECK(poll(&room, 1, 10) == 0);
    mark(END);

    tell_peer(client);
    CHECK(poll(&room, 1, 10000) == 1);
    CHECK(write(fd, data + at, SMALL) == SMALL);
    ADD_FACT("\"writes\": %d, \"seen\": %zu, \"bytes\": %zu", writes + 1, seen + SMALL, at + SMALL);
    close(fd);
    return report();
}
