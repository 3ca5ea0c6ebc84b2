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

bool arms_equal(const struct arms *a, const struct arms *b) {
    if (a->count != b->count || a->assignment != b->assignment || a->seed != b->seed)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->mode[i] != b->mode[i] || a->weight[i] != b->weight[i])
            return false;
    return true;
}
