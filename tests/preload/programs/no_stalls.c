/* SPDX-License-Identifier: MIT
 *
 * Exchanges without a stall by Nagle's algorithm, that may look like one: NAME COUNT, both ends
 * in this process.  In half of them a message has two small writes, with Nagle in force, and something else
 * delays the bytes or the answer.
 */
#include "client.h"

enum { SMALL_REPLY = 100, BULK = 200000, BIG_REPLY = 60000 };

typedef struct {
    const char *name;
    size_t writes[4]; /* of a message; 0: no more */
    size_t reply;
    int think_ms;     /* of the server, once it has read all */
    bool quick;       /* the server acknowledges at once: TCP_QUICKACK before and after reads */
    bool nodelay, more, cork;
    unsigned pace;    /* bytes a second */
    int mss, receive_buffer, nap_ms; /* nap: of the server, before it reads */
    bool both;        /* the server answers in two small writes */
} mix_t;

static const mix_t mixes[] = {
    {.name = "well-behaved", .writes = {300}, .reply = SMALL_REPLY},
    {.name = "bulk", .writes = {BULK}, .reply = BIG_REPLY},
    {.name = "bulk-with-tail", .writes = {BULK, 100}, .reply = SMALL_REPLY},
    {.name = "interactive", .writes = {1}, .reply = 1},
    {.name = "slow-server", .writes = {300}, .reply = SMALL_REPLY, .think_ms = 42},
    {.name = "nodelay", .writes = {200, 100}, .reply = SMALL_REPLY, .nodelay = true, .both = true},
    {.name = "more", .writes = {200, 100}, .reply = SMALL_REPLY, .more = true},
    {.name = "cork", .writes = {200, 100}, .reply = SMALL_REPLY, .cork = true},
    {.name = "acknowledged-at-once", .writes = {200, 100}, .reply = SMALL_REPLY, .quick = true},
    {.name = "acknowledged-at-once-slow-server", .writes = {200, 100}, .reply = SMALL_REPLY,
     .quick = true, .think_ms = 42},
    {.name = "paced", .writes = {300}, .reply = SMALL_REPLY, .pace = 20000},
    {.name = "paced-two-writes", .writes = {200, 100}, .reply = SMALL_REPLY, .quick = true, .pace = 6000},
    {.name = "stalling", .writes = {200, 100}, .reply = SMALL_REPLY},
    {.name = "paced-stalling", .writes = {200, 100}, .reply = SMALL_REPLY, .pace = 1000},
    {.name = "cwnd-limited", .writes = {BULK, 100, 100}, .reply = SMALL_REPLY, .quick = true, .mss = 536},
    {.name = "slow-reader", .writes = {BULK, 100, 100}, .reply = SMALL_REPLY, .quick = true,
     .receive_buffer = 8192, .nap_ms = 42},
};

static const mix_t *mix;
static int port, listener;

static void option(int fd, int level, int name, int value) {
    CHECK(setsockopt(fd, level, name, &value, sizeof value) == 0);
}

static char buffer[BULK];

static bool take(int fd, size_t bytes, bool quick) {
    static char taken[BULK];
    for (size_t got = 0; got < bytes;) {
        ssize_t n = read(fd, taken, bytes - got);
        if (n <= 0) return false;
        got += (size_t)n;
        if (quick) option(fd, IPPROTO_TCP, TCP_QUICKACK, 1);
    }
    return true;
}

static void give(int fd, size_t bytes, int flags) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = send(fd, buffer, bytes - done, flags);
        CHECK(n > 0);
        done += (size_t)n;
    }
}

static void *serve(void *unused) {
    int fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    if (mix->nodelay) option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    size_t request = 0;
    for (int i = 0; i < 4; i++) request += mix->writes[i];
    for (;;) {
        if (mix->quick) option(fd, IPPROTO_TCP, TCP_QUICKACK, 1);
        if (mix->nap_ms) usleep((useconds_t)mix->nap_ms * 1000);
        if (!take(fd, request, mix->quick)) break;
        if (mix->think_ms) usleep((useconds_t)mix->think_ms * 1000);
        give(fd, mix->both ? mix->reply / 2 : mix->reply, 0);
        if (mix->both) give(fd, mix->reply - mix->reply / 2, 0);
    }
    close(fd);
    return unused;
}

static void exchange(int fd) {
    if (mix->cork) option(fd, IPPROTO_TCP, TCP_CORK, 1);
    for (int i = 0; i < 4 && mix->writes[i]; i++)
        give(fd, mix->writes[i], mix->more && i < 3 && mix->writes[i + 1] ? MSG_MORE : 0);
    if (mix->cork) option(fd, IPPROTO_TCP, TCP_CORK, 0);
    CHECK(take(fd, mix->reply, false));
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++)
        if (strcmp(mixes[i].name, argv[1]) == 0) mix = &mixes[i];
    CHECK(mix);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (mix->receive_buffer) option(listener, SOL_SOCKET, SO_RCVBUF, mix->receive_buffer);
    CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    port = ntohs(address.sin_port);
    pthread_t server;
    CHECK(pthread_create(&server, NULL, serve, NULL) == 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (mix->mss) option(fd, IPPROTO_TCP, TCP_MAXSEG, mix->mss);
    if (mix->pace) option(fd, SOL_SOCKET, SO_MAX_PACING_RATE, (int)mix->pace);
    if (mix->nodelay) option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    CHECK(connect(fd, (struct sockaddr *)&address, length) == 0);
    for (int i = 0; i < atoi(argv[2]); i++) exchange(fd);
    close(fd);
    pthread_join(server, NULL);
    return 0;
}
