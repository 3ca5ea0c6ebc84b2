/* SPDX-License-Identifier: MIT
 *
 * The life of a connection, interrupted at one place of the library after the other by a signal handler that
 * ends, makes or sets a connection: argv[1], see `acts`.  `other` connections have had the pattern before.
 * What the program is told afterwards is what it was told bare.  argv[2]: every so many places.
 */
#include "client.h"

#include <linux/close_range.h>

#include "../../harness/places.h"

struct pair {
    int near, far;
    char came[64]; /* at the far end */
    int bytes;
};

static struct sockaddr_in here = {.sin_family = AF_INET}, there = {.sin_family = AF_INET};
static int listener, second_listener, round_;
static struct pair own, before, other; /* `before`: the own one that a handler has closed */
static bool shut;
static const char *problem;

static void expect(bool good, const char *what) {
    if (!good && !problem) problem = what;
}

/* Bytes, up to now. */
static void take(struct pair *p) {
    long n;
    while ((n = raw6(SYS_recvfrom, p->far, (long)p->came + p->bytes, (long)sizeof p->came - p->bytes,
                     MSG_DONTWAIT, 0, 0)) > 0)
        p->bytes += (int)n;
}

static void take_all(struct pair *p, int bytes) {
    struct pollfd input = {.fd = p->far, .events = POLLIN};
    struct timespec longest = {2, 0};
    while (p->bytes < bytes && raw_call(SYS_ppoll, (long)&input, 1, (long)&longest, 0, 0) == 1) {
        int had = p->bytes;
        take(p);
        if (p->bytes == had) break; /* the end */
    }
}

static int port_of(int fd, long call) {
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    raw_call(call, fd, (long)&address, (long)&size, 0, 0);
    return address.sin_port;
}

/* The handler may come between a connect and its accept.  Far ends are out of the way of the numbers that the
 * program uses. */
static void far_end_of(struct pair *p) {
    static int waiting[4];
    int port = port_of(p->near, SYS_getsockname);
    p->bytes = 0;
    for (int i = 0;; i++) {
        int *at = &waiting[i % 4];
        if (*at == 0) {
            int low = (int)raw_call(SYS_accept4, listener, 0, 0, SOCK_CLOEXEC, 0);
            CHECK(low >= 0);
            *at = (int)raw_call(SYS_fcntl, low, F_DUPFD_CLOEXEC, 100, 0, 0);
            raw_call(SYS_close, low, 0, 0, 0, 0);
        }
        if (port_of(*at, SYS_getpeername) != port) continue;
        p->far = *at;
        *at = 0;
        return;
    }
}

static void make(struct pair *p) {
    p->near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(p->near >= 0 && connect(p->near, (struct sockaddr *)&here, sizeof here) == 0, "connect");
    far_end_of(p);
}

static int nodelay_of(int fd) {
    int value = -1;
    socklen_t size = sizeof value;
    if (getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size) != 0) return -1;
    return value != 0;
}

static void set(int fd, int name, int value) {
    expect(setsockopt(fd, IPPROTO_TCP, name, &value, sizeof value) == 0, "setsockopt");
}

/* A message, and its answer. */
static void exchange(struct pair *p) {
    char answer;
    struct timespec moment = {0, 1};
    write(p->near, "head", 4);
    write(p->near, "body", 4);
    nanosleep(&moment, NULL);
    if (before.near >= 0 || shut) return;
    take_all(p, 8);
    expect(p->bytes == 8 && memcmp(p->came, "headbody", 8) == 0, "other bytes");
    p->bytes = 0;
    raw_call(SYS_write, p->far, (long)"k", 1, 0, 0);
    expect(read(p->near, &answer, 1) == 1, "no answer");
}

static void exchange_own(void) {
    exchange(&own);
}

static void end(struct pair *p) {
    if (p->near >= 0) close(p->near);
    if (p->far >= 0) raw_call(SYS_close, p->far, 0, 0, 0, 0);
    p->near = p->far = -1;
}

/* ---- in the handler --------------------------------------------------------- */

static int wanted_of_own, wanted_of_other;

static void remake(void) {
    int number = other.near;
    raw_call(SYS_close, other.far, 0, 0, 0, 0);
    make(&other);
    expect(other.near == number, "another number");
    expect(nodelay_of(other.near) == 0, "the new one has TCP_NODELAY at once");
}

static void closes_and_makes(void) {
    close(other.near);
    remake();
}

static void closes_range(void) {
    close_range((unsigned)other.near, (unsigned)other.near, 0);
    remake();
}

/* The number leads to a connection that is accepted. */
static void accepts(void) {
    int maker = (int)raw_call(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0), number = other.near;
    raw_call(SYS_close, other.far, 0, 0, 0, 0);
    other.far = (int)raw_call(SYS_fcntl, maker, F_DUPFD_CLOEXEC, 100, 0, 0);
    raw_call(SYS_close, maker, 0, 0, 0, 0);
    raw_call(SYS_connect, other.far, (long)&there, sizeof there, 0, 0);
    close(number);
    other.near = accept(second_listener, NULL, NULL);
    other.bytes = 0;
    expect(other.near == number, "another number");
}

/* The number leads to a connection that the library has not seen. */
static void replaces(void) {
    int made = (int)raw_call(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0);
    raw_call(SYS_connect, made, (long)&here, sizeof here, 0, 0);
    expect(dup2(made, other.near) == other.near, "dup2");
    raw_call(SYS_close, made, 0, 0, 0, 0);
    raw_call(SYS_close, other.far, 0, 0, 0, 0);
    far_end_of(&other);
}

/* The own connection: the number of the interrupted call leads to another one. */
static void makes_own(void) {
    if (own.far < 0) return; /* not connected yet */
    before = own;
    close(own.near);
    make(&own);
    raw_call(SYS_write, own.far, (long)"k", 1, 0, 0); /* the interrupted call may be a read */
    expect(own.near == before.near, "another number");
}

static void sets(void) {
    wanted_of_other = round_ & 1;
    set(other.near, TCP_NODELAY, wanted_of_other);
    expect(nodelay_of(other.near) == wanted_of_other, "the other's value in the handler");
    if (own.far < 0) return; /* not connected yet */
    expect(nodelay_of(own.near) == 0, "the own value in the handler");
    wanted_of_own = round_ & 1;
    set(own.near, TCP_CORK, 1);
    set(own.near, TCP_CORK, 0);
    set(own.near, TCP_NODELAY, wanted_of_own);
    expect(nodelay_of(own.near) == wanted_of_own, "the own new value in the handler");
}

static void shuts(void) {
    shutdown(other.near, SHUT_WR);
    if (own.far < 0) return; /* not connected yet */
    shutdown(own.near, SHUT_WR);
    shut = true;
}

/* `other` has bytes that a library may hold or keep. */
static void shuts_with_bytes(void) {
    shutdown(other.near, SHUT_WR);
}

static void closes_with_bytes(void) {
    close(other.near);
    other.near = -1;
}

/* ---- a life -------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(void);
} acts[] = {{"close", closes_and_makes}, {"close_range", closes_range}, {"accept", accepts},
            {"dup2", replaces}, {"own", makes_own}, {"set", sets}, {"shutdown", shuts},
            {"shutdown_bytes", shuts_with_bytes}, {"close_bytes", closes_with_bytes}};
static void (*act)(void);

static bool acted;

static void once(void) {
    acted = true;
    wanted_of_other = 0;
    act();
}

static bool other_has_bytes(void) {
    return act == shuts_with_bytes || act == closes_with_bytes;
}

static void live(void) {
    make(&own);
    for (int i = 0; i < 4 && before.near < 0 && !shut; i++) {
        places_phase();
        exchange_own();
    }
    places_phase();
    nodelay_of(own.near);
}

/* What was written came, once and in order, the first part of it to the one, the rest to the other. */
static void check_moved(void) {
    raw_call(SYS_shutdown, own.near, SHUT_WR, 0, 0, 0);
    take_all(&before, sizeof before.came);
    take_all(&own, sizeof own.came);
    int bytes = before.bytes + own.bytes;
    memcpy(before.came + before.bytes, own.came, (size_t)own.bytes);
    expect(bytes == 0 || (bytes == 8 && memcmp(before.came, "headbody", 8) == 0), "bytes are lost");
}

static void check_shut(struct pair *p) {
    signal(SIGPIPE, SIG_IGN);
    errno = 0;
    expect(write(p->near, "x", 1) == -1 && errno == EPIPE, p == &own ? "own written" : "other written");
}

static void check(void) {
    if (other_has_bytes()) {
        take_all(&other, other.near < 0 || acted ? 64 : 4);
        expect(other.bytes == 4 && memcmp(other.came, "head", 4) == 0, "the other's bytes are lost");
        if (acted && other.near >= 0) check_shut(&other);
    } else if (acted && act == shuts) {
        check_shut(&other);
        if (shut) check_shut(&own);
    } else {
        for (int i = 0; i < 2; i++) {
            expect(nodelay_of(other.near) == wanted_of_other, "the other's value");
            if (own.near >= 0) expect(nodelay_of(own.near) == wanted_of_own, "the own value");
            if (i == 0) {
                bool moved = before.near >= 0;
                struct pair moved_from = before;
                if (moved) check_moved();
                before.near = -1;
                if (!moved) exchange(&own);
                else raw_call(SYS_close, moved_from.far, 0, 0, 0, 0), before.far = -1;
                exchange(&other);
            }
        }
    }
}

static void prepare(void) {
    struct timespec tick = {0, 5000000};
    own = before = other = (struct pair){.near = -1, .far = -1};
    wanted_of_own = wanted_of_other = 0;
    shut = acted = false;
    make(&other);
    for (int i = 0; i < 2; i++) exchange(&other);
    if (act == closes_and_makes || act == closes_range || act == accepts || act == replaces)
        set(other.near, TCP_NODELAY, wanted_of_other = 1); /* not the next one's */
    if (!other_has_bytes()) return;
    expect(write(other.near, "head", 4) == 4, "write");
    if (round_ & 1) raw_call(SYS_nanosleep, (long)&tick, 0, 0, 0, 0); /* the coarse clock moves */
}

/* False: the library did not pass there. */
static bool round_at(int place) {
    prepare();
    round_++;
    if (place_count) {
        places_run(live, place);
    } else {
        live();
        once();
    }
    check();
    end(&own);
    end(&other);
    return acted;
}

static void life(void) {
    live();
    places_phase();
    end(&own);
}

static int listen_at(struct sockaddr_in *address) {
    socklen_t size = sizeof *address;
    long made = raw_call(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0);
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    raw_call(SYS_bind, made, (long)address, size, 0, 0);
    raw_call(SYS_listen, made, 8, 0, 0, 0);
    raw_call(SYS_getsockname, made, (long)address, (long)&size, 0, 0);
    return (int)made;
}

int main(int argc, char **argv) {
    int reached = 0, bad = 0;
    CHECK(argc == 3);
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (strcmp(argv[1], acts[i].name) == 0) act = acts[i].run;
    CHECK(act);
    listener = listen_at(&here);
    second_listener = listen_at(&there);
    own = before = other = (struct pair){.near = -1, .far = -1};
    at_place = once;
    life(); /* the window's thread, if there is one, begins: its creation blocks all signals */
    for (; round_ < 2; round_++) { /* some places are passed only if the coarse clock has moved, or has not */
        prepare();
        places_learn(life);
        end(&other);
    }
    for (int i = 0; i < place_count || i == 0; i += atoi(argv[2])) {
        problem = NULL;
        reached += round_at(i);
        if (!problem) continue;
        bad++;
        fprintf(stderr, "%lx: %s\n", places[i] - places_begin, problem);
    }
    ADD_FACT("\"places\": %d, \"reached\": %d, \"bad\": %d", place_count, reached, bad);
    return report();
}
