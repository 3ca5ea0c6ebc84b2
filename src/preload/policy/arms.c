/* SPDX-License-Identifier: MIT */
#include "arms.h"

#include <string.h>

#include "policy.h"

static int mode_of(const char *name, size_t length) {
    for (int i = 0; i < MODE_COUNT; i++)
        if (strlen(mode_names[i]) == length && memcmp(mode_names[i], name, length) == 0)
            return i;
    return -1;
}

bool arms_parse(struct arms *arms, const char *text) {
    uint32_t count = 0;
    for (;;) {
        const char *colon = strchr(text, ':');
        int mode = colon ? mode_of(text, (size_t)(colon - text)) : -1;
        if (mode < 0 || count == STATS_ARMS)
            return false;
        uint32_t weight = 0;
        for (text = colon + 1; *text >= '0' && *text <= '9' && weight <= ARM_WEIGHT_MAX; text++)
            weight = weight * 10 + (uint32_t)(*text - '0');
        if (weight == 0 || weight > ARM_WEIGHT_MAX || (*text && *text != ','))
            return false;
        arms->mode[count] = (uint8_t)mode;
        arms->weight[count++] = weight;
        if (!*text)
            break;
        text++;
    }
    arms->count = count;
    return true;
}

/* The finaliser of splitmix64: each bit of the input affects all bits of the output. */
static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t mix_address(uint64_t seed, const struct stats_address *address, bool port) {
    uint64_t halves[2];
    memcpy(halves, address->address, sizeof(halves));
    uint64_t x = mix(seed ^ address->family ^ (port ? (uint64_t)address->port << 16 : 0));
    return mix(mix(x ^ halves[0]) ^ halves[1]);
}

unsigned arms_choose(const struct arms *arms, const struct arms_key *key) {
    uint64_t x = mix(arms->seed);
    switch ((enum stats_assignment)arms->assignment) {
    case ASSIGN_PEER: x = mix_address(x, key->peer, false); break;
    case ASSIGN_LISTENER: x = mix_address(x, key->listener, true); break;
    case ASSIGN_CONNECTION: x = mix(x ^ key->serial); break;
    }
    uint32_t total = 0;
    for (uint32_t i = 0; i < arms->count; i++)
        total += arms->weight[i];
    uint32_t point = (uint32_t)(((x >> 32) * total) >> 32);
    unsigned arm = 0;
    while (arm + 1 < arms->count && point >= arms->weight[arm])
        point -= arms->weight[arm++];
    return arm;
}

bool arms_equal(const struct arms *a, const struct arms *b) {
    if (a->count != b->count || a->assignment != b->assignment || a->seed != b->seed)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->mode[i] != b->mode[i] || a->weight[i] != b->weight[i])
            return false;
    return true;
}
