/* SPDX-License-Identifier: MIT
 *
 * The line of exchange times in `unstall top`.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "top_past.h"

static struct past with_median(uint64_t inode, const struct past_list *before, uint64_t ns) {
    struct past now = {.device = 1, .inode = inode, .row = 2};
    past_follow(before, &now, ns);
    return now;
}

Test(top_past, moves_by_one_place_a_look) {
    struct past kept = {0};
    struct past_list before = {0};
    for (uint64_t look = 1; look <= PAST_LOOKS + 3; look++) {
        kept = with_median(7, &before, look);
        before = (struct past_list){&kept, 1};
        cr_assert(kept.median[PAST_LOOKS - 1] == look);
    }
    for (uint64_t i = 0; i < PAST_LOOKS; i++)
        cr_expect(kept.median[i] == i + 4);
}

Test(top_past, another_file_begins_anew) {
    struct past old = with_median(7, &(struct past_list){0}, 5);
    struct past_list before = {&old, 1};
    struct past now = with_median(8, &before, 6);
    cr_expect(now.median[PAST_LOOKS - 1] == 6 && now.median[PAST_LOOKS - 2] == 0);
}

Test(top_past, is_found_among_many) {
    struct past list[50];
    for (uint64_t i = 0; i < 50; i++)
        list[i] = (struct past){.device = i % 3, .inode = (i * 7) % 50, .row = (uint32_t)i};
    struct past_list all = {list, 50};
    past_sort(&all);
    for (uint64_t i = 0; i < 50; i++) {
        const struct past *p = past_find(&all, i % 3, (i * 7) % 50, (uint32_t)i);
        cr_expect(p && p->inode == (i * 7) % 50);
    }
    cr_expect(past_find(&all, 9, 9, 9) == NULL);
    cr_expect(past_find(&(struct past_list){0}, 9, 9, 9) == NULL);
}

Test(top_past, has_a_column_a_look_and_a_height_by_decades) {
    char text[PAST_TEXT];
    struct past p = {0};
    static const uint64_t ns[] = {1, 10000, 40000000, 1000000000, UINT64_MAX};
    memcpy(p.median + PAST_LOOKS - 5, ns, sizeof(ns));
    cr_expect_str_eq(past_text(&p, true, text), "                   00577");
    past_text(&p, false, text);
    cr_expect_str_eq(text + PAST_LOOKS - 5, "▁▁▆██");
    cr_expect_str_eq(past_text(NULL, true, text), "");
}
