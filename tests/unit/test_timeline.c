/* SPDX-License-Identifier: MIT
 *
 * The timeline of `unstall explain`: nothing is lost, with any order and span of the times.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "waits.h"

static uint64_t all(const struct timeline *t) {
    uint64_t n = 0;
    for (int i = 0; i < TIMELINE_PARTS; i++)
        n += t->stalled[i] + t->other[i];
    return n;
}

/* The count of the part that a time falls into. */
static uint32_t at(const struct timeline *t, int64_t ns) {
    int64_t part = ns / t->part_ns - t->first;
    cr_assert(part >= 0 && part < TIMELINE_PARTS);
    return t->stalled[part] + t->other[part];
}

Test(timeline, each_time_has_its_part) {
    struct timeline t = {0};
    timeline_add(&t, 5 * MS, 1, 0);
    timeline_add(&t, 20 * MS, 2, 0);
    timeline_add(&t, 3 * MS, 4, 0); /* earlier than the first */
    cr_expect(t.part_ns == MS);
    cr_expect(at(&t, 3 * MS) == 4 && at(&t, 5 * MS) == 1 && at(&t, 20 * MS) == 2 && all(&t) == 7);
}

Test(timeline, parts_grow_until_all_fit) {
    struct timeline t = {0};
    const int64_t day = INT64_C(86400) * 1000 * MS, now = INT64_C(1795349803) * 1000 * MS;
    timeline_add(&t, now, 1, 0);
    timeline_add(&t, now + day, 2, 0);
    timeline_add(&t, now - day, 4, 0);
    cr_expect(at(&t, now) == 1 && at(&t, now + day) == 2 && at(&t, now - day) == 4 && all(&t) == 7);
    cr_expect(t.part_ns * TIMELINE_PARTS < 5 * day, "not wider than needed");
}

Test(timeline, a_negative_time_counts_as_zero) {
    struct timeline t = {0};
    timeline_add(&t, -MS, 3, 0);
    cr_expect(at(&t, 0) == 3);
}

Test(timeline, merged_in_any_order) {
    srand(1);
    for (int round = 0; round < 200; round++) {
        struct timeline parts[3] = {{0}}, whole = {0};
        uint64_t n = 0, stalls = 0;
        for (int i = 0; i < 300; i++, n++) {
            int64_t spread = INT64_C(1) << (rand() % 40);
            uint32_t stalled = rand() % 2;
            timeline_add(&parts[rand() % 3], INT64_C(1) * (rand() % 1000) * MS + rand() % spread,
                         stalled, !stalled);
            stalls += stalled;
        }
        for (int i = 0; i < 3; i++)
            timeline_merge(&whole, &parts[(i + round) % 3]);
        cr_assert(all(&whole) == n);
        for (int i = 0; i < TIMELINE_PARTS; i++)
            stalls -= whole.stalled[i];
        cr_assert(stalls == 0, "each kind is kept");
        cr_assert(whole.part_ns % MS == 0);
    }
}
