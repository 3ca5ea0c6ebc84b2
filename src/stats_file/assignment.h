/* SPDX-License-Identifier: MIT
 *
 * The arm of a connection in an experiment.  Pure; the library and the BPF programs of `unstall attach` share
 * it, so that the same seed gives both the same assignment.
 */
#ifndef UNSTALL_ASSIGNMENT_H
#define UNSTALL_ASSIGNMENT_H

#include "stats_format.h"

/* The finaliser of splitmix64: each bit of the input affects all bits of the output. */
static inline uint64_t assignment_mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t assignment_mix_address(uint64_t seed, const struct stats_address *address,
                                              int port) {
    uint64_t halves[2];
    __builtin_memcpy(halves, address->address, sizeof(halves));
    uint64_t x = assignment_mix(seed ^ address->family ^ (port ? (uint64_t)address->port << 16 : 0));
    return assignment_mix(assignment_mix(x ^ halves[0]) ^ halves[1]);
}

/* The key of a connection: `serial` is its number, from 1. */
static inline uint64_t assignment_key(uint64_t seed, uint32_t assignment, uint64_t serial,
                                      const struct stats_address *peer,
                                      const struct stats_address *listener) {
    uint64_t x = assignment_mix(seed);
    if (assignment == ASSIGN_PEER)
        return assignment_mix_address(x, peer, 0);
    if (assignment == ASSIGN_LISTENER)
        return assignment_mix_address(x, listener, 1);
    return assignment_mix(x ^ serial);
}

/* A number below `count`, by weight.  The bounds are constant for the sake of the kernel's verifier. */
static inline unsigned assignment_arm(uint64_t key, const uint32_t weight[STATS_ARMS],
                                      uint32_t count) {
    uint32_t total = 0, below = 0;
    for (unsigned i = 0; i < STATS_ARMS; i++)
        total += i < count ? weight[i] : 0;
    uint32_t point = (uint32_t)(((key >> 32) * total) >> 32);
    for (unsigned i = 0; i + 1 < STATS_ARMS; i++) {
        below += weight[i];
        if (i + 1 >= count || point < below)
            return i;
    }
    return STATS_ARMS - 1;
}

#endif
