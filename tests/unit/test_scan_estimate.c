/* SPDX-License-Identifier: MIT
 *
 * How often sockets are sampled, and the estimate from the samples.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "budget.h"
#include "candidates.h"
#include "estimate.h"

static const uint64_t MS = 1000000;

/* ---- the budget ---------------------------------------------------------- */

Test(scan_budget, dumps_that_take_longer_are_made_less_often) {
    struct scan_budget b = scan_budget_begin(0);
    scan_budget_dump(&b, MS);
    cr_assert_eq(scan_budget_dump_every(&b) / MS, 200);
    for (int i = 0; i < 100; i++)
        scan_budget_dump(&b, 20 * MS);
    cr_assert_gt(scan_budget_dump_every(&b), 3900 * MS);
    cr_assert_lt(scan_budget_dump_every(&b), 4100 * MS);
}

Test(scan_budget, dumps_that_take_nothing_are_not_made_all_the_time) {
    struct scan_budget b = scan_budget_begin(0);
    scan_budget_dump(&b, 1000);
    cr_assert_eq(scan_budget_dump_every(&b), 50 * MS);
}

Test(scan_budget, no_more_than_the_share_is_allowed) {
    struct scan_budget b = scan_budget_begin(0);
    cr_assert(scan_budget_allows(&b, 0));
    scan_budget_watch(&b, 25 * MS);
    cr_assert(!scan_budget_allows(&b, 0));
    cr_assert(scan_budget_allows(&b, 1000 * MS));
    scan_budget_watch(&b, 20 * MS);
    cr_assert(!scan_budget_allows(&b, 1000 * MS));
}

/* Of 90 000 sockets.  The first dump had taken the time of all looks for 10 s, and each later one for as
 * long: 60 sockets that stalled were "No stall". */
Test(scan_budget, a_long_dump_leaves_time_for_looks_and_is_made_seldom) {
    struct scan_budget b = scan_budget_begin(0);
    scan_budget_dump(&b, 126 * MS);
    cr_assert(scan_budget_allows(&b, 126 * MS));
    cr_assert_eq(scan_budget_dump_every(&b) / MS, 12600);
}

/* A machine on which a look costs 45 us and 3 us a socket: the number settles within the share. */
Test(scan_budget, as_many_are_watched_as_the_share_pays_for) {
    struct scan_budget b = scan_budget_begin(0);
    uint64_t now = 0;
    unsigned watched = 0;
    for (int turn = 0; turn < 200; turn++) {
        watched = scan_budget_turn(&b, now, 500);
        for (int look = 0; look < 42; look++)
            scan_budget_watch(&b, 45000 + 3000 * watched);
        now += 500 * MS;
    }
    cr_assert_gt(watched, 3);
    cr_assert_lt((double)b.spent_ns / (double)now, 0.012);
    cr_assert_eq(scan_budget_turn(&b, now, 3), 3);
}

/* ---- the estimate ---------------------------------------------------------- */

Test(scan_estimate, what_was_seen_all_the_time_is_itself) {
    struct scan_estimate e = {0};
    scan_estimate_add(&e, &(struct scan_found){.gap_ns = 0,
                                               .alive_ns = 4400 * MS,
                                               .watched_ns = 4400 * MS,
                                               .discovered = 1,
                                               .watched = 99,
                                               .stall_ns = 4400 * MS});
    scan_estimate_end(&e);
    cr_assert_float_eq(e.count, 100, 0.01);
    cr_assert_float_eq(e.lost_ns, 4400e6, 1e6);
    cr_assert(e.low >= 96 && e.low < 100 && e.high > 100 && e.high <= 104);
}

Test(scan_estimate, half_of_the_time_stands_for_all_of_it) {
    struct scan_estimate e = {0};
    scan_estimate_add(&e, &(struct scan_found){.alive_ns = 4400 * MS,
                                               .watched_ns = 2200 * MS,
                                               .watched = 50,
                                               .stall_ns = 2200 * MS});
    scan_estimate_end(&e);
    cr_assert_float_eq(e.count, 100, 0.01);
    cr_assert(e.low > 60 && e.low < 90 && e.high > 110 && e.high < 140);
}

/* Seldom stalls of 40 ms at random, dumps every 200 ms, the socket is given up after each: over
 * many repetitions the mean is the truth, and the interval holds it. */
Test(scan_estimate, discoveries_stand_for_what_no_dump_met) {
    unsigned inside = 0;
    double sum = 0;
    enum { RUNS = 400, STALLS = 50 };
    srandom(1);
    for (int run = 0; run < RUNS; run++) {
        struct scan_estimate e = {0};
        for (int i = 0; i < STALLS; i++)
            if (random() % 200 < 40)
                scan_estimate_add(&e, &(struct scan_found){.gap_ns = 200 * MS,
                                                           .alive_ns = 40 * MS,
                                                           .watched_ns = 40 * MS,
                                                           .discovered = 1,
                                                           .stall_ns = 40 * MS});
        scan_estimate_end(&e);
        sum += e.count;
        inside += e.low <= STALLS && STALLS <= e.high;
    }
    cr_assert_float_eq(sum / RUNS, STALLS, 3);
    cr_assert_gt(inside, RUNS * 93 / 100);
}

Test(scan_estimate, nothing_found_is_nothing) {
    struct scan_estimate e = {0};
    scan_estimate_add(&e, &(struct scan_found){.gap_ns = 100 * MS, .alive_ns = 100 * MS});
    scan_estimate_end(&e);
    cr_assert_eq(e.count, 0);
    cr_assert_eq(e.low, 0);
}

/* ---- candidates ---------------------------------------------------------- */

static struct scan_key key_of(unsigned number) {
    return (struct scan_key){.family = 2, .cookie = {number, 0}};
}

Test(scan_candidates, all_have_their_turn) {
    struct scan_candidates c = {0};
    struct scan_candidate *chosen[4];
    unsigned times[10] = {0};
    for (unsigned i = 0; i < 10; i++) {
        struct scan_key key = key_of(i);
        struct scan_sample s = {.at_ns = MS,
                                .unsent = 1,
                                .unacked = 1,
                                .mss = 2,
                                .cwnd = 2,
                                .window = 9,
                                .queued = 2,
                                .pacing = UINT64_MAX};
        cr_assert(!scan_candidate_known(&c, &key));
        cr_assert_not_null(scan_candidate_discovered(&c, &key, &s, 0));
        cr_assert(scan_candidate_known(&c, &key));
    }
    scan_candidate_rest(c.list[3]);
    for (int turn = 0; turn < 9; turn++) {
        cr_assert_eq(scan_candidates_turn(&c, chosen, 4), 4);
        for (int i = 0; i < 4; i++)
            times[chosen[i]->key.cookie[0]]++;
    }
    for (unsigned i = 0; i < 10; i++)
        cr_assert_eq(times[i], i == 3 ? 0 : 4, "%u: %u", i, times[i]);
    cr_assert_eq(scan_candidates_turn(&c, chosen, 4), 4);
    scan_candidates_end(&c);
}
