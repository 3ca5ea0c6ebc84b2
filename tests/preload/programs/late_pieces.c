/* SPDX-License-Identifier: MIT
 *
 * A habit of eight pieces and a read, COUNT times; then ("pieces") one such message with computing behind
 * each piece, or ("children") four children, one after the other, each of which computes behind the first
 * piece of a connection of its own.  The time that the kernel kept each piece, in ms.
 */
#include "client.h"

enum { PIECES = 8, CHILDREN = 4, COMPUTES_MS = 300 };

static void write_piece(int fd, int i)
{
    int begin = BODY / PIECES * i, end = i < PIECES - 1 ? BODY / PIECES * (i + 1) : HEADER + BODY;
    CHECK(write(fd, message + begin, (size_t)(end - begin)) == end - begin);
}

static void exchange(int fd)
{
    for (int i = 0; i < PIECES; i++) write_piece(fd, i);
    read_reply(fd);
}

static long child(client_t client)
{
    long kept = 0;
    int ends[2];
    CHECK(pipe(ends) == 0);
    if (fork() == 0) {
        int fd = connect_to(client);
        next_message(0);
        write_piece(fd, 0);
        kept = kept_ms(fd, COMPUTES_MS);
        CHECK(write(ends[1], &kept, sizeof kept) == sizeof kept);
        _exit(0);
    }
    CHECK(read(ends[0], &kept, sizeof kept) == sizeof kept && wait(NULL) > 0);
    return kept;
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    bool children = argc > 5 && strcmp(argv[5], "children") == 0;
    char kept[100] = "";
    int fd = connect_to(client);
    run_exchanges(fd, client.count, exchange);
    unsigned before = data_segments(fd);
    exchange(fd);
    unsigned segments = data_segments(fd) - before;
    next_message(0);
    for (int i = 0; i < (children ? CHILDREN : PIECES); i++) {
        if (!children) write_piece(fd, i);
        long ms = children ? child(client) : kept_ms(fd, COMPUTES_MS);
        sprintf(kept + strlen(kept), "%s%ld", i ? ", " : "", ms);
    }
    if (!children) read_reply(fd);
    ADD_FACT("\"kept_ms\": [%s], \"held\": %s", kept, segments == 1 ? "true" : "false");
    return report();
}
