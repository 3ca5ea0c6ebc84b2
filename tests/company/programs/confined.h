/* SPDX-License-Identifier: MIT
 *
 * A client in two halves: exchanges, a confinement in the middle of a message, more exchanges.  The
 * calls after it are read, write and exit_group alone.
 *
 * Usage: PROGRAM ADDRESS PORT COUNT HOW [first].  With `first` the confinement comes before the first call of
 * the sockets.  The facts leave by a plain write at the end.
 */
#ifndef UNSTALL_TEST_CONFINED_H
#define UNSTALL_TEST_CONFINED_H

#include "client.h"

struct confinement {
    const char *name;
    void (*begin)(void);
};

static inline long exchange_us(int fd, int index, void (*between)(void)) {
    next_message(index);
    long begin = now_us();
    CHECK(write(fd, message, HEADER) == HEADER);
    if (between) between();
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    return now_us() - begin;
}

static inline int by_size(const void *a, const void *b) {
    long first = *(const long *)a, second = *(const long *)b;
    return (first > second) - (first < second);
}

static inline long median_us(int fd, int from, int count) {
    for (int i = 0; i < count; i++) facts.us[i] = exchange_us(fd, from + i, NULL);
    qsort(facts.us, (size_t)count, sizeof facts.us[0], by_size);
    return facts.us[count / 2];
}

/* How the program ends. */
static UNUSED void (*confined_end)(int) = _exit;

/* The findings of `begin`, for the last line. */
static UNUSED int confined_errno;

static inline int confined_main(int argc, char **argv, const struct confinement *known, size_t how_many) {
    CHECK(argc >= 5);
    client_t client = client_arguments(argc, argv);
    const struct confinement *chosen = NULL;
    for (size_t i = 0; i < how_many; i++)
        if (strcmp(known[i].name, argv[4]) == 0) chosen = &known[i];
    CHECK(chosen);
    bool loaded = library_is_loaded();
    bool at_first = argc > 5;
    if (at_first) chosen->begin();
    int fd = connect_to(client), half = client.count / 2;
    char line[200];
    long before = median_us(fd, 0, half);
    exchange_us(fd, half, at_first ? NULL : chosen->begin);
    long after = median_us(fd, half + 1, client.count - half - 1);
    int length =
        snprintf(line, sizeof line,
                 "{\"loaded\": %s, \"before_us\": %ld, \"after_us\": %ld, \"errno\": %d}\n",
                 loaded ? "true" : "false", before, after, confined_errno);
    CHECK(write(STDOUT_FILENO, line, (size_t)length) == length);
    confined_end(0);
    abort();
}

#endif
