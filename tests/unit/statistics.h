/* SPDX-License-Identifier: MIT
 *
 * For tests of the statistics: all of the library but its exports (whole.h), with a real statistics file
 * in a folder of its own, and a clock that only the test moves.
 */
#ifndef UNSTALL_STATISTICS_H
#define UNSTALL_STATISTICS_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "stats_file.h"
#include "whole.h"

#define MS UINT64_C(1000000)

static uint64_t time_ns = 1000000 * MS;

static inline int stopped_clock(clockid_t clock, struct timespec *now) {
    (void)clock;
    *now = (struct timespec){(time_t)(time_ns / 1000000000), (long)(time_ns % 1000000000)};
    return 0;
}

static char statistics_folder[64];

static inline void statistics_end(void) {
    char file[128];
    const struct stats_file *s = stats_file_mapped;
    if (s) {
        snprintf(file, sizeof(file), "%s/%u-%llx" STATS_SUFFIX, statistics_folder, s->header.pid,
                 (unsigned long long)s->header.started_ns);
        unlink(file);
    }
    rmdir(statistics_folder);
}

/* `more` are further settings, NULL: none. */
static inline void statistics_start(const char *mode, const char *more, const char *another) {
    static char folder[96], name[32];
    strcpy(statistics_folder, "/dev/shm/unit-XXXXXX");
    cr_assert(mkdtemp(statistics_folder), "no folder in /dev/shm");
    snprintf(folder, sizeof(folder), "UNSTALL_STATS=%s", statistics_folder);
    snprintf(name, sizeof(name), "UNSTALL_MODE=%s", mode);
    whole_start((const char *const[]){name, folder, more, more ? another : NULL, NULL});
    clock_get = stopped_clock;
    fake.protocol = IPPROTO_TCP;
}

/* Of all threads. */
static inline uint64_t counted(uint32_t row, enum stats_counter what) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < STATS_SHARDS; i++)
        sum += STATS_COUNTER(&stats_file_mapped->shard[row][i], what);
    return sum;
}

#endif
