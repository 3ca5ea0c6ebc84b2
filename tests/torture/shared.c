/* SPDX-License-Identifier: MIT */
#include "shared.h"

#include <sys/mman.h>

static char table[PERIOD + LARGEST];
static uint64_t the_seed;

void streams_init(uint64_t seed) {
    static const char signs[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    uint64_t state = seed;
    the_seed = seed;
    for (size_t i = 0; i < PERIOD; i++)
        table[i] = signs[random_next(&state) & 63];
    memcpy(table + PERIOD, table, LARGEST);
}

static size_t place(uint64_t salt, uint32_t link, uint64_t offset) {
    uint64_t state = the_seed ^ salt ^ ((uint64_t)link << 20);
    return (offset + random_next(&state) % PERIOD) % PERIOD;
}

const char *streams_table(size_t *bytes) {
    *bytes = sizeof(table);
    return table;
}

size_t stream_place(uint32_t link, uint64_t offset) {
    return place(1, link, offset);
}

const char *stream_at(uint32_t link, uint64_t offset) {
    return table + place(1, link, offset);
}

const char *reply_at(uint32_t link, uint64_t offset) {
    return table + place(2, link, offset);
}

void stream_name(uint32_t link, char name[NAME_BYTES]) {
    for (int i = NAME_BYTES - 1; i >= 0; i--, link /= 10)
        name[i] = (char)('0' + link % 10);
}

struct habits habits_of(uint32_t link) {
    static const uint32_t every[] = {100, 150, 300, 1000, 5000, 30000};
    static const uint32_t reply[] = {1, 20, 60, 200, 900, 6000};
    uint64_t state = the_seed ^ 3 ^ ((uint64_t)link << 20);
    uint32_t kind = random_below(&state, 6);
    return (struct habits){every[kind], reply[random_below(&state, kind + 1)],
                           random_below(&state, 5) == 0};
}

uint64_t reply_total(const struct habits *habits, uint64_t received) {
    return received / habits->every * habits->reply;
}

uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct shared *shared_map(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct shared)) != 0) {
        perror(path);
        _exit(2);
    }
    void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) {
        perror(path);
        _exit(2);
    }
    return memory;
}
