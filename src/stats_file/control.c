/* SPDX-License-Identifier: MIT */
#include "control.h"

#include <errno.h>

enum { TRIES = 4 };

int stats_control_read(const struct stats_control *block, struct stats_control *copy) {
    for (int i = 0; i < TRIES; i++) {
        uint32_t before = __atomic_load_n(&block->sequence, __ATOMIC_ACQUIRE);
        if (before & 1)
            continue;
        /* acquire: the second load of the sequence stays after these */
        for (int w = 0; w < CONTROL_WORDS; w++)
            ((control_word *)copy)[w] =
                __atomic_load_n((const control_word *)block + w, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&block->sequence, __ATOMIC_RELAXED) == before) {
            copy->sequence = before;
            return 0;
        }
    }
    return -EAGAIN;
}

const char *stats_control_wrong(const struct stats_control *c) {
    if (c->version != CONTROL_VERSION)
        return "another version";
    if (c->mode >= STATS_MODES && c->mode != CONTROL_KEEP)
        return "an unknown mode";
    if (c->window_us && (c->window_us < WINDOW_MIN_US || c->window_us > WINDOW_MAX_US))
        return "a window that is not from 500 to 100000 us";
    if (c->arm_count > STATS_ARMS)
        return "more than 6 arms";
    if (c->assignment > ASSIGN_LISTENER)
        return "an unknown assignment";
    for (uint32_t i = 0; i < c->arm_count; i++) {
        if (c->arm_mode[i] >= STATS_MODES)
            return "an arm with an unknown mode";
        if (c->arm_weight[i] == 0 || c->arm_weight[i] > ARM_WEIGHT_MAX)
            return "an arm whose weight is not from 1 to 1000";
    }
    return NULL;
}
