/* SPDX-License-Identifier: MIT
 *
 * A connection of every_name.c with itself: its one end is used as any program would, the other by raw
 * system calls that no library sees.
 */
static int near_end = -1, far_end = -1;
static bool holding;
static struct {
    int written, held;
} *pieces; /* shared with children */

/* The bytes that come there are these, and no other ones. */
static void raw_take(const char *expected) {
    char taken[16];
    size_t bytes = strlen(expected), got = 0;
    while (got < bytes) {
        long n = raw_call(SYS_read, far_end, (long)taken + (long)got, (long)(bytes - got), 0, 0);
        if (n <= 0) die("raw_take");
        got += (size_t)n;
    }
    if (memcmp(taken, expected, bytes) != 0) {
        fprintf(stderr, "%.*s came for %s\n", (int)bytes, taken, expected);
        exit(98);
    }
}

static void connect_to_ourselves(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    long listener = raw_call(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0);
    raw_call(SYS_bind, listener, (long)&address, size, 0, 0);
    raw_call(SYS_listen, listener, 1, 0, 0, 0);
    raw_call(SYS_getsockname, listener, (long)&address, (long)&size, 0, 0);
    near_end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(near_end >= 0 && connect(near_end, (struct sockaddr *)&address, size) == 0);
    far_end = (int)raw_call(SYS_accept4, listener, 0, 0, SOCK_CLOEXEC, 0);
    CHECK(far_end >= 0);
    raw_call(SYS_close, listener, 0, 0, 0, 0);
}

/* Header and body, and an answer. */
static void exchange_once(void) {
    char answer;
    CHECK(write(near_end, "head", 4) == 4 && write(near_end, "body", 4) == 4);
    struct pollfd input = {.fd = near_end, .events = POLLIN};
    poll(&input, 1, 1); /* the turn ends: what is held leaves */
    raw_take("headbody");
    raw_call(SYS_write, far_end, (long)"k", 1, 0, 0);
    CHECK(read(near_end, &answer, 1) == 1);
}

static UNUSED void warm_up(void) {
    pieces = mmap(NULL, sizeof *pieces, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(pieces != MAP_FAILED);
    connect_to_ourselves();
    for (int i = 0; i < 8; i++) exchange_once();
}

/* The first piece of a message, in the modes that hold from the first on; the second in the others. */
static void hold_a_piece(void) {
    if (!holding) return;
    CHECK(write(near_end, "head", 4) == 4);
    char byte;
    pieces->written++;
    pieces->held += raw6(SYS_recvfrom, far_end, (long)&byte, 1, MSG_PEEK | MSG_DONTWAIT, 0, 0) < 0;
}

/* Turns of one write alone would teach the library to hold no first one. */
static void keep_the_pattern(void) {
    int one = 1; /* no exchange takes 40 ms, in no mode */
    raw_call(SYS_setsockopt, far_end, IPPROTO_TCP, TCP_QUICKACK, (long)&one, sizeof one);
    exchange_once();
}

/* It comes, after a wait, whatever call stood between. */
static void show_piece(const char *name) {
    if (!holding) return;
    struct timespec moment = {0, 1}, longest = {2, 0};
    nanosleep(&moment, NULL);
    struct pollfd input = {.fd = far_end, .events = POLLIN};
    if (raw_call(SYS_ppoll, (long)&input, 1, (long)&longest, 0, 0) != 1) {
        char line[128];
        int n = snprintf(line, sizeof line, "%s: its piece has not come\n", name);
        raw_call(SYS_write, 1, (long)line, n, 0, 0);
    } else {
        raw_take("head");
    }
    raw_call(SYS_write, far_end, (long)"k", 1, 0, 0);
    char answer;
    CHECK(read(near_end, &answer, 1) == 1);
    keep_the_pattern();
}
