/* SPDX-License-Identifier: MIT
 *
 * Sockets that were held once: a scan without an end forgets them.
 */
#include <criterion/criterion.h>

#include "candidates.h"

static const uint64_t S = 1000000000;

static struct scan_candidate *add(struct scan_candidates *c, uint32_t cookie, uint64_t at_s) {
    const struct scan_key key = {.cookie = {cookie}};
    const struct scan_sample sample = {.at_ns = at_s * S};
    struct scan_candidate *one = scan_candidate_discovered(c, &key, &sample, S);
    cr_assert(one);
    return one;
}

static bool has(const struct scan_candidates *c, uint32_t cookie) {
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i]->key.cookie[0] == cookie)
            return true;
    return false;
}

Test(scan_candidates, those_at_rest_without_a_stall_go_after_a_while) {
    struct scan_candidates c = {0};
    add(&c, 1, 1);                        /* watched: it stays */
    scan_candidate_rest(add(&c, 2, 1));   /* goes */
    scan_candidate_rest(add(&c, 3, 100)); /* not yet */
    struct scan_candidate *stalled = add(&c, 4, 1);
    stalled->span.watched = stalled->judge.stalls = 3;
    scan_candidate_rest(stalled); /* has something to tell */
    struct scan_candidate *corks = add(&c, 5, 1);
    corks->span.watched = corks->judge.stalls = 3;
    corks->judge.corked = 3;
    scan_candidate_rest(corks); /* goes: it tells nothing */
    scan_candidates_forget(&c, NULL, 0, 60 * S);
    cr_assert(has(&c, 1) && !has(&c, 2) && has(&c, 3) && has(&c, 4) && !has(&c, 5));
    scan_candidates_end(&c);
}

Test(scan_candidates, those_that_are_named_go_at_once_and_may_come_back) {
    struct scan_candidates c = {0};
    const struct scan_key key = {.cookie = {2}};
    add(&c, 1, 1);
    add(&c, 2, 1);
    scan_candidates_forget(&c, &key, 1, 0);
    cr_assert(has(&c, 1) && !has(&c, 2));
    cr_assert(!scan_candidate_known(&c, &key));
    add(&c, 2, 3);
    cr_assert_eq(c.count, 2);
    scan_candidates_end(&c);
}
