/* SPDX-License-Identifier: MIT
 *
 * Chance that is the same in each run.
 */
#ifndef UNSTALL_UNIT_CHANCE_H
#define UNSTALL_UNIT_CHANCE_H

#include <stdint.h>

/* A test that plays several times may begin each play with a value of its own; never 0. */
static uint64_t chance = UINT64_C(88172645463325252);

/* Below `below`.  xorshift64 (Marsaglia, 2003). */
static inline uint32_t draw(uint32_t below) {
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (uint32_t)((chance >> 32) % below);
}

#endif
