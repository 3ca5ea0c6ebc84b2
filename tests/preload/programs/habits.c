/* SPDX-License-Identifier: MIT
 *
 * Habits of a program, and what comes after them.
 */

#ifndef PROGRAM
#define PROGRAM one_way
#endif
#include "session.h"

/* A stream of small writes that never has an answer: Nagle is to protect the network. */
static void one_way(void) {
    mark(BEGIN);
    int fd = connect_to(client);
    char piece[20];
    for (int i = 0; i < client.count; i++) {
        fill(piece, sizeof piece, (size_t)i * sizeof piece);
        mark(i);
        CHECK(write(fd, piece, sizeof piece) == (ssize_t)sizeof piece);
        if (i % 20 == 19) usleep(1000);
    }
    mark(END);
    ADD_FACT("\"nodelay\": %d", raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    /* Bytes that are still held must count, too. */
    shutdown(fd, SHUT_WR);
    char end;
    CHECK(read(fd, &end, 1) == 0);
    facts.segments_after = data_segments(fd);
    close(fd);
}

/* A large body and a small trailer (the last chunk of a chunked answer, say), at the MSS of an Ethernet:
 * the body's tail is a small segment, behind which Nagle keeps the trailer. */
enum { MSS = 1448, LARGE = 66000, SMALL = 100 };

static void body_and_trailer(int fd) {
    static char body[LARGE], trailer[SMALL];
    CHECK(write(fd, body, LARGE) == LARGE);
    CHECK(write(fd, trailer, SMALL) == SMALL);
    read_reply(fd);
}

/* The first bytes of a message are several segments with MSG_MORE: the peer acknowledges the full ones, and
 * the acknowledgement releases the tail. */
static void more_and_trailer(int fd) {
    static char text[4000];
    CHECK(send(fd, text, sizeof text, MSG_MORE) == sizeof text);
    CHECK(write(fd, text, SMALL) == SMALL);
    read_reply(fd);
}

static void at_the_mss_of_an_ethernet(void (*exchange)(int fd)) {
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), mss = MSS;
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss) == 0);
    CHECK(connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0);
    run_exchanges(fd, client.count, exchange);
}

static void large_then_small(void) {
    at_the_mss_of_an_ethernet(body_and_trailer);
}

static void segments_then_small(void) {
    at_the_mss_of_an_ethernet(more_and_trailer);
}

/* Connects without waiting for it, asks SO_ERROR once connected, works for 300 ms (as a TLS library
 * may that reads its certificates), and only then writes. */
static void late_first_write(void) {
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(client.port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), error = -1;
    socklen_t length = sizeof error;
    inet_pton(AF_INET, client.address, &peer.sin_addr);
    CHECK(connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0 || errno == EINPROGRESS);
    usleep(500000); /* the handshake of a far peer */
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    CHECK(poll(&wait, 1, 5000) == 1);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0);
    usleep(300000);
    CHECK(fcntl(fd, F_SETFL, 0) == 0);
    run_exchanges(fd, client.count, one_write);
    close(fd);
}

/* A habit of eight pieces and a read, COUNT times; then ("pieces") one such message with computing behind
 * each piece, or ("children") four children, one after the other, each of which computes behind the first
 * piece of a connection of its own.  The time that the kernel kept each piece, in ms. */
enum { PIECES = 8, CHILDREN = 4, PIECE_MS = 300 };

static void write_piece(int fd, int i) {
    int begin = BODY / PIECES * i, end = i < PIECES - 1 ? BODY / PIECES * (i + 1) : HEADER + BODY;
    CHECK(write(fd, message + begin, (size_t)(end - begin)) == end - begin);
}

static void eight_pieces(int fd) {
    for (int i = 0; i < PIECES; i++) write_piece(fd, i);
    read_reply(fd);
}

static long child(client_t client) {
    long kept = 0;
    int ends[2];
    CHECK(pipe(ends) == 0);
    if (fork() == 0) {
        int fd = connect_to(client);
        next_message(0);
        write_piece(fd, 0);
        kept = kept_ms(fd, PIECE_MS);
        CHECK(write(ends[1], &kept, sizeof kept) == sizeof kept);
        _exit(0);
    }
    CHECK(read(ends[0], &kept, sizeof kept) == sizeof kept && wait(NULL) > 0);
    return kept;
}

static void late_pieces(void) {
    bool children = strcmp(how, "children") == 0;
    char kept[100] = "";
    int fd = connect_to(client);
    run_exchanges(fd, client.count, eight_pieces);
    unsigned before = data_segments(fd);
    eight_pieces(fd);
    unsigned segments = data_segments(fd) - before;
    next_message(0);
    for (int i = 0; i < (children ? CHILDREN : PIECES); i++) {
        if (!children) write_piece(fd, i);
        long ms = children ? child(client) : kept_ms(fd, PIECE_MS);
        sprintf(kept + strlen(kept), "%s%ld", i ? ", " : "", ms);
    }
    if (!children) read_reply(fd);
    ADD_FACT("\"kept_ms\": [%s], \"held\": %s", kept, segments == 1 ? "true" : "false");
}

/* A habit that becomes a stream: two pieces and a read, COUNT times; one piece and half a second of
 * computing; then fifty single writes.  While the kernel may keep a piece, the program makes no call that the
 * library sees; with "turns" it makes one before each single write.  The time that the kernel kept each
 * piece, in ms. */
enum { EVENTS = 50, EVENT = 4, COMPUTES_MS = 500, LONGEST_MS = 400 };

static long kept_ms_sleeping(int fd) {
    static const struct timespec moment = {.tv_nsec = 1000000};
    long begin = now_us();
    do raw_call(SYS_nanosleep, (long)&moment, 0, 0, 0, 0);
    while (info_of(fd).tcpi_notsent_bytes && now_us() - begin < LONGEST_MS * 1000L);
    return (now_us() - begin) / 1000;
}

static void habit_then_stream(void) {
    char kept[400];
    bool turns = strcmp(how, "turns") == 0;
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    unsigned before = data_segments(fd);
    two_writes(fd);
    bool held = data_segments(fd) - before == 1;
    next_message(0);
    CHECK(write(fd, message, BODY) == BODY);
    int length = sprintf(kept, "%ld", kept_ms(fd, COMPUTES_MS));
    for (int i = 0; i < EVENTS; i++) {
        if (turns) poll(NULL, 0, 1);
        CHECK(write(fd, message + BODY + i * EVENT, EVENT) == EVENT);
        length += sprintf(kept + length, ", %ld", kept_ms_sleeping(fd));
    }
    read_reply(fd); /* the piece and the writes are a message of the peer's */
    ADD_FACT("\"kept_ms\": [%s], \"held\": %s", kept, held ? "true" : "false");
}

/* A habit, and then other ones: two pieces and a read, COUNT times; then, on each of three connections
 * in turn, three pieces each of which is followed by computing, with no call that could wait, and the
 * habit again.  Each piece's lateness is the time that the kernel kept it, in ms. */
enum { CONNECTIONS = 3, SINGLES = 3, SINGLE_MS = 400 };

static void changes_habit(void) {
    char kept[200] = "", held[100] = "";
    for (int c = 0; c < CONNECTIONS; c++) {
        int fd = connect_to(client);
        run_exchanges(fd, client.count, two_writes);
        unsigned before = data_segments(fd);
        two_writes(fd);
        sprintf(held + strlen(held), "%s%s", c ? ", " : "",
                data_segments(fd) - before == 1 ? "true" : "false");
        for (int i = 0; i < SINGLES; i++) {
            next_message(0);
            CHECK(write(fd, message, BODY) == BODY); /* three of them are a message of the peer's */
            sprintf(kept + strlen(kept), "%s%ld", c + i ? ", " : "", kept_ms(fd, SINGLE_MS));
        }
        read_reply(fd);
        close(fd);
    }
    ADD_FACT("\"kept_ms\": [%s], \"held\": [%s]", kept, held);
}

/* Four times: a habit of two pieces and a read, COUNT times; then one such message with a pause of 12 ms
 * between its pieces.  In the pause other processes have the processor ("preempted"), or the program computes
 * ("computes"), or waits by sched_yield(2) ("yields").  For each of the four: the data segments of the last
 * message of the habit, and whether others took the processor once or twice in the pause behind it, while the
 * program neither waited nor computed for 5 ms. */
enum { TIMES = 4, OTHERS = 10, PAUSE_US = 12000 };

static volatile bool *busy; /* shared with the other processes */

static void other_process(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        if (!*busy) usleep(1000);
    _exit(0);
}

/* All on one processor. */
static void start_others(void) {
    cpu_set_t all, one;
    pid_t parent = getpid();
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    for (int i = 0; i < OTHERS; i++)
        if (fork() == 0) other_process(parent);
}

static long computed_us(struct rusage *used) {
    CHECK(getrusage(RUSAGE_THREAD, used) == 0);
    return (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000L + used->ru_utime.tv_usec +
           used->ru_stime.tv_usec;
}

/* True: others took the processor. */
static bool pause_between(bool preempted, bool yields) {
    struct rusage before, after;
    long computed = computed_us(&before), began = now_us();
    *busy = preempted;
    while (now_us() - began < PAUSE_US)
        if (yields) sched_yield();
    *busy = false;
    computed = computed_us(&after) - computed;
    long lost = after.ru_nivcsw - before.ru_nivcsw;
    return after.ru_nvcsw == before.ru_nvcsw && computed < 5000 && lost >= 1 && lost <= 2;
}

static void loses_processor(void) {
    bool preempted = strcmp(how, "preempted") == 0;
    bool yields = strcmp(how, "yields") == 0;
    char segments[100] = "", lost[100] = "";
    busy = mmap(NULL, sizeof *busy, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(busy != MAP_FAILED);
    start_others();
    int fd = connect_to(client);
    for (int i = 0; i < TIMES; i++) {
        run_exchanges(fd, client.count, two_writes);
        unsigned before = data_segments(fd);
        two_writes(fd);
        sprintf(segments + strlen(segments), "%s%u", i ? ", " : "", data_segments(fd) - before);
        next_message(0);
        CHECK(write(fd, message, HEADER) == HEADER);
        bool taken = pause_between(preempted, yields);
        sprintf(lost + strlen(lost), "%s%s", i ? ", " : "", taken ? "true" : "false");
        CHECK(write(fd, message + HEADER, BODY) == BODY);
        read_reply(fd);
        usleep(2000); /* the others see it */
    }
    ADD_FACT("\"segments\": [%s], \"preempted\": [%s]", segments, lost);
}
