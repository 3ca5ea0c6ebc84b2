/* SPDX-License-Identifier: MIT
 *
 * The line of exchange times in `unstall top`.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "top_frame.h"

Test(top_past, moves_by_one_place_a_look) {
    uint64_t past[2][PAST_LOOKS] = {{0}};
    for (uint64_t look = 1; look <= PAST_LOOKS + 3; look++) {
        past_follow(past[look % 2], past[!(look % 2)], look);
        cr_assert(past[look % 2][PAST_LOOKS - 1] == look);
    }
    for (uint64_t i = 0; i < PAST_LOOKS; i++)
        cr_expect(past[(PAST_LOOKS + 3) % 2][i] == i + 4);
}

Test(top_past, a_new_endpoint_begins_anew) {
    uint64_t past[PAST_LOOKS] = {5, 5, 5};
    past_follow(past, NULL, 6);
    for (uint64_t i = 0; i < PAST_LOOKS - 1; i++)
        cr_expect(past[i] == 0);
    cr_expect(past[PAST_LOOKS - 1] == 6);
}

Test(top_past, has_a_column_a_look_and_a_height_by_decades) {
    char text[PAST_TEXT];
    uint64_t past[PAST_LOOKS] = {0};
    static const uint64_t ns[] = {1, 10000, 40000000, 1000000000, UINT64_MAX};
    memcpy(past + PAST_LOOKS - 5, ns, sizeof(ns));
    cr_expect_str_eq(past_text(past, true, text), "                   00577");
    past_text(past, false, text);
    cr_expect_str_eq(text + PAST_LOOKS - 5, "▁▁▆██");
}
