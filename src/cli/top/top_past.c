/* SPDX-License-Identifier: MIT */
#include "top_past.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 8 };

static int order(const void *a, const void *b) {
    const struct past *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

void past_sort(struct past_list *p) {
    if (p->count)
        qsort(p->list, p->count, sizeof(*p->list), order);
}

const struct past *past_find(const struct past_list *p, uint64_t device, uint64_t inode,
                             uint32_t row) {
    struct past key = {.device = device, .inode = inode, .row = row};
    return p->count ? bsearch(&key, p->list, p->count, sizeof(*p->list), order) : NULL;
}

void past_follow(const struct past_list *before, struct past *now, uint64_t median) {
    const struct past *old = past_find(before, now->device, now->inode, now->row);
    memset(now->median, 0, sizeof(now->median));
    if (old)
        memcpy(now->median, old->median + 1, sizeof(now->median) - sizeof(now->median[0]));
    now->median[PAST_LOOKS - 1] = median;
}

static unsigned level(uint64_t ns) {
    double share = (log10((double)ns) - 4) / 5; /* 10 µs to 1 s */
    double height = share * LEVELS;
    return height <= 0 ? 0 : height >= LEVELS ? LEVELS - 1 : (unsigned)height;
}

const char *past_text(const struct past *p, bool ascii, char text[PAST_TEXT]) {
    static const char *const blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    char *end = text;
    *end = '\0';
    for (size_t i = 0; p && i < PAST_LOOKS; i++) {
        uint64_t ns = p->median[i];
        if (!ns)
            *end++ = ' ';
        else if (ascii)
            *end++ = (char)('0' + level(ns));
        else
            end = stpcpy(end, blocks[level(ns)]);
        *end = '\0';
    }
    return text;
}
