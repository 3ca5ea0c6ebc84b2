/* SPDX-License-Identifier: MIT
 *
 * A client that sends messages in pieces and waits for each answer.
 *
 * Usage: client HOST PORT SHAPE WAY WARM_UP CHUNKS PER_CHUNK [tails]
 *
 *   SHAPE  two | fifteen | body | random | one, from a static buffer;
 *          two-malloc | fifteen-malloc, from one of malloc
 *   WAY    pieces | one | nodelay | cork | more
 *
 * The first WARM_UP exchanges are not counted.  Prints one JSON object: the
 * median, over the chunks, of the time of an exchange (so that another program on the core spoils a chunk and
 * not the result), and the data segments of an exchange.  With `tails` also the 99th and the 99.9th
 * percentile of the time of an exchange.
 */
#include "message.h"

enum { MOST_CHUNKS = 4096, MOST_TAILS = 1 << 20 };

struct shape {
    const char *name;
    int count;
    unsigned pieces[16];
    unsigned answer;
    bool of_malloc;
};

static const struct shape shapes[] = {
    {"two", 2, {200, 100}, 200, false},
    {"fifteen", 15, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 2, false},
    {"two-malloc", 2, {200, 100}, 200, true},
    {"fifteen-malloc", 15, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 2, true},
    {"body", 2, {200, 16384}, 200, false},
    {"random", 0, {50, 50, 50, 50, 50, 50}, 50, false}, /* 2 to 6 pieces */
    {"one", 1, {300}, 200, false},
};

static char static_message[LARGEST], answer[LARGEST];
static char *message = static_message;
static uint32_t dice = 2463534242;

static int two_to_six(void) {
    dice ^= dice << 13;
    dice ^= dice >> 17;
    dice ^= dice << 5;
    return 2 + (int)(dice % 5);
}

static const struct shape *shape_called(const char *name) {
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    fprintf(stderr, "no shape %s\n", name);
    exit(2);
}

static void exchange(int fd, const struct shape *s, enum way way) {
    int count = s->count ? s->count : two_to_six();
    unsigned length = 0;
    for (int i = 0; i < count; i++)
        length += s->pieces[i];
    head_of(message, length, s->answer);
    if (!send_message(fd, way, message, s->pieces, count))
        die("send");
    for (size_t have = 0; have < s->answer;) {
        ssize_t got = read(fd, answer, sizeof(answer));
        if (got <= 0)
            die("read");
        have += (size_t)got;
    }
}

/* The times of all exchanges, by a look at the clock before and after each. */
static void tails(int fd, const struct shape *shape, enum way way, int count) {
    static double all[MOST_TAILS];
    for (int i = 0; i < count; i++) {
        double began = now_ns();
        exchange(fd, shape, way);
        all[i] = now_ns() - began;
    }
    printf("{\"ns\": %.1f, ", median(all, count)); /* sorts them */
    printf("\"p99 ns\": %.0f, \"p99.9 ns\": %.0f}\n", all[(int)(0.99 * (count - 1))],
           all[(int)(0.999 * (count - 1))]);
}

int main(int argc, char **argv) {
    if (argc != 8 && (argc != 9 || strcmp(argv[8], "tails") != 0)) {
        fprintf(stderr, "usage: client HOST PORT SHAPE WAY WARM_UP CHUNKS PER_CHUNK [tails]\n");
        return 2;
    }
    struct sockaddr_in address = address_of(argv[1], atoi(argv[2]));
    const struct shape *shape = shape_called(argv[3]);
    enum way way = way_called(argv[4]);
    int warm_up = atoi(argv[5]), chunks = atoi(argv[6]), per_chunk = atoi(argv[7]);
    if (shape->of_malloc && !(message = malloc(LARGEST)))
        die("malloc");
    static double times[MOST_CHUNKS];
    if (chunks < 1 || chunks > MOST_CHUNKS || per_chunk < 1)
        return 2;
    int fd = connected_to(&address);
    if (way == WAY_NODELAY)
        set_option(fd, TCP_NODELAY, 1);
    for (int i = 0; i < warm_up; i++)
        exchange(fd, shape, way);
    if (argc == 9 && chunks * per_chunk <= MOST_TAILS) {
        tails(fd, shape, way, chunks * per_chunk);
        return 0;
    }
    uint32_t before = info_of(fd).tcpi_data_segs_out;
    for (int i = 0; i < chunks; i++) {
        double began = now_ns();
        for (int n = 0; n < per_chunk; n++)
            exchange(fd, shape, way);
        times[i] = (now_ns() - began) / per_chunk;
    }
    double segments = info_of(fd).tcpi_data_segs_out - before;
    printf("{\"ns\": %.1f, \"segments\": %.4f}\n", median(times, chunks),
           segments / chunks / per_chunk);
    return 0;
}
