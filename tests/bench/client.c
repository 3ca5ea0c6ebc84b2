/* SPDX-License-Identifier: MIT
 *
 * A client that sends messages in pieces and waits for each answer.
 *
 * Usage: client HOST PORT SHAPE WAY WARM_UP CHUNKS PER_CHUNK
 *
 *   SHAPE  two | fifteen | body | random | one
 *   WAY    pieces | one | nodelay | cork | more
 *
 * The first WARM_UP exchanges are not counted.  Prints one JSON object: the
 * median, over the chunks, of the time of an exchange (so that a neighbour who
 * takes the core for a moment spoils a chunk and not the result), and the data
 * segments of an exchange.
 */
#include "message.h"

enum { MOST_CHUNKS = 4096 };

struct shape {
    const char *name;
    int count;
    unsigned pieces[16];
    unsigned answer;
};

static const struct shape shapes[] = {
    {"two", 2, {200, 100}, 200},
    {"fifteen", 15, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 2},
    {"body", 2, {200, 16384}, 200},
    {"random", 0, {50, 50, 50, 50, 50, 50}, 50}, /* 2 to 6 pieces */
    {"one", 1, {300}, 200},
};

static char message[LARGEST], answer[LARGEST];
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

int main(int argc, char **argv) {
    if (argc != 8) {
        fprintf(stderr, "usage: client HOST PORT SHAPE WAY WARM_UP CHUNKS PER_CHUNK\n");
        return 2;
    }
    struct sockaddr_in address = address_of(argv[1], atoi(argv[2]));
    const struct shape *shape = shape_called(argv[3]);
    enum way way = way_called(argv[4]);
    int warm_up = atoi(argv[5]), chunks = atoi(argv[6]), per_chunk = atoi(argv[7]);
    static double times[MOST_CHUNKS];
    if (chunks < 1 || chunks > MOST_CHUNKS || per_chunk < 1)
        return 2;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        die("connect");
    if (way == WAY_NODELAY)
        set_option(fd, TCP_NODELAY, 1);
    for (int i = 0; i < warm_up; i++)
        exchange(fd, shape, way);
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
