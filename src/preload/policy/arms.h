/* SPDX-License-Identifier: MIT
 *
 * The arms of an experiment: the mode that each connection gets.  Pure.
 *
 * An assignment is a function of the seed and of the connection's key, so that
 * the same seed gives the same assignment again.
 */
#ifndef UNSTALL_ARMS_H
#define UNSTALL_ARMS_H

#include "base.h"
#include "stats_format.h"

enum { ARM_WEIGHT_MAX = 1000 };

struct arms {
    uint32_t count;      /* 0: no experiment */
    uint32_t assignment; /* enum stats_assignment */
    uint64_t seed;
    uint8_t mode[STATS_ARMS]; /* enum mode */
    uint32_t weight[STATS_ARMS];
};

/* Parses "off:50,auto:50".  False: another form, or more than STATS_ARMS arms. */
bool arms_parse(struct arms *arms, const char *text);

bool arms_equal(const struct arms *a, const struct arms *b);

#endif
