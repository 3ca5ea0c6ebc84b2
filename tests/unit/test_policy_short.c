/* SPDX-License-Identifier: MIT
 *
 * The short ways through policy do what the long ones do: both are played from the same
 * states, which are drawn at random around those that connections are in.
 */
#include "policy_short.h"
#include "unit.h"

enum { STATES = 2000000 };

static uint64_t state = 88172645463325252u;

/* xorshift64 (Marsaglia, 2003). */
static uint32_t draw(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % below);
}

static bool seldom(void) {
    return draw(12) == 0;
}

static size_t some_bytes(void) {
    static const size_t sizes[] = {1,          2,       100,   535,   536,
                                   537,        1459,    1460,  1461,  4096,
                                   4097,       65483,   65535, 65536, SHORT_MOST - 1,
                                   SHORT_MOST, SIZE_MAX};
    return draw(3) ? 1 + draw(600) : draw(20) ? sizes[draw(14)] : sizes[draw(ARRAY_SIZE(sizes))];
}

static struct policy some_policy(void) {
    struct policy p = {
        .mode = (uint8_t)draw(MODE_COUNT),
        .app_nodelay = seldom(),
        .app_cork = seldom(),
        .app_more = seldom(),
        .nodelay = draw(2),
        .unsure = seldom(),
        .ill = draw(2),
        .fallen = seldom(),
        .dark = seldom(),
        .no_more = seldom(),
        .established = !seldom(),
        .refuses = seldom(),
        .input_ever = !seldom(),
        .taught = seldom(),
        .input_pending = seldom(),
        .crowded = seldom(),
        .large = seldom(),
        .one_way = seldom(),
        .gather_limit = (uint16_t)(draw(4) ? GATHER_MOST : draw(2000)),
        .doubtful = seldom(),
        .window_ends = (uint8_t)(draw(2) ? draw(20) : 0),
        .quick_turns = (uint8_t)(draw(2) ? HABIT : draw(HABIT)),
        .hesitated = seldom(),
        .goes_on = (uint8_t)draw(4),
        .kept_turn = draw(2),
        .position = (uint16_t)(seldom() ? draw(40) : 1 + draw(3)),
        .units = (uint16_t)draw(4),
        .turns = (uint16_t)draw(4),
        .small_writes = (uint16_t)draw(4),
        .unanswered = (uint16_t)draw(20),
        .mss = draw(2)   ? 0
               : draw(2) ? 1460
                         : 65483,
        .first_unit = (uint32_t)some_bytes(),
        .smalls = draw(4),
        .message_bytes = draw(3) ? draw(20000) : 0,
        .pending = seldom() ? (uint32_t)some_bytes() : draw(2) * draw(600),
    };
    for (int i = 0; i < TURN_POSITIONS; i++)
        p.model.ended[i] = (uint8_t)(draw(3) ? draw(2) * 255 : draw(256));
    if (seldom())
        p.small_writes = p.units = p.turns = UINT16_MAX;
    return p;
}

/* Field by field where there are holes; the copies were made whole, so holes are equal too. */
static bool same(const struct policy *a, const struct policy *b) {
    return memcmp(a, b, sizeof(*a)) == 0;
}

static bool same_action(struct policy_action a, struct policy_action b) {
    return a.how == b.how && a.need_facts == b.need_facts && a.late_push == b.late_push &&
           a.back_to_app == b.back_to_app && a.ends_unit == b.ends_unit &&
           a.small_unit == b.small_unit && a.unanswered == b.unanswered &&
           a.small_write == b.small_write && a.suspected == b.suspected && a.burst == b.burst &&
           a.new_message == b.new_message;
}

static void copy(struct policy *to, const struct policy *from) {
    memcpy(to, from, sizeof(*to));
}

Test(policy_short, a_write) {
    int taken[MODE_COUNT][3] = {{0}};
    for (int i = 0; i < STATES; i++) {
        const struct policy before = some_policy();
        struct policy long_one, short_one;
        copy(&long_one, &before);
        copy(&short_one, &before);
        struct policy_limits limits = {4096, seldom(), !seldom(), seldom()};
        struct policy_write w = {.bytes = some_bytes()};
        struct policy_action wanted, got;
        memset(&got, 0xff, sizeof(got));
        if (!policy_write_short(&short_one, &limits, w.bytes, &got)) {
            cr_assert(same(&short_one, &before), "state %d: not taken, and changed", i);
            continue;
        }
        wanted = policy_write(&long_one, &limits, &w);
        cr_assert(same_action(got, wanted), "state %d: another action", i);
        cr_assert(same(&short_one, &long_one), "state %d: left another state", i);
        taken[before.mode][got.how]++;
    }
    /* the test has tested something: how often the short way was taken, and to what */
    EXPECT(taken[MODE_AUTO][WRITE_PLAIN] > 10000 && taken[MODE_AUTO][WRITE_MORE] > 10000);
    EXPECT(taken[MODE_CORK][WRITE_PLAIN] > 1000 && taken[MODE_CORK][WRITE_MORE] > 10000);
    EXPECT(taken[MODE_COALESCE][WRITE_PLAIN] > 1000 && taken[MODE_COALESCE][WRITE_GATHER] > 10000);
    EXPECT(taken[MODE_NODELAY][WRITE_PLAIN] > 10000);
    EXPECT(taken[MODE_OFF][WRITE_PLAIN] + taken[MODE_OBSERVE][WRITE_PLAIN] == 0);
}

/* A small write that Nagle would keep, at whose sight TCP_NODELAY is set, is never taken. */
Test(policy_short, the_illness_goes_the_long_way) {
    const struct policy_limits limits = {.small = 4096, .may_hold = true};
    struct policy_action action;
    struct policy p = {.mode = MODE_AUTO, .established = true, .input_ever = true, .position = 1};
    EXPECT(policy_write_short(&p, &limits, 200, &action) && action.how == WRITE_PLAIN);
    p.position = 2;
    EXPECT(!policy_write_short(&p, &limits, 100, &action));
    p.nodelay = true; /* ... nor the one that shows the illness within a turn */
    EXPECT(!policy_write_short(&p, &limits, 100, &action));
    p.ill = true;
    EXPECT(policy_write_short(&p, &limits, 100, &action) && action.small_unit);
}

Test(policy_short, the_end_of_a_turn) {
    for (int i = 0; i < STATES / 10; i++) {
        const struct policy before = some_policy();
        struct policy long_one, short_one;
        copy(&long_one, &before);
        copy(&short_one, &before);
        policy_turn_ends(&long_one);
        policy_turn_ends_short(&short_one);
        cr_assert(same(&short_one, &long_one), "state %d: left another state", i);
    }
}

Test(policy_short, what_was_gathered_leaves) {
    const struct policy_limits limits = {.small = 4096, .may_hold = true};
    int taken = 0;
    for (int i = 0; i < STATES / 10; i++) {
        const struct policy before = some_policy();
        struct policy long_one, short_one;
        size_t bytes = some_bytes();
        copy(&long_one, &before);
        copy(&short_one, &before);
        if (!policy_release_short(&short_one, bytes)) {
            cr_assert(same(&short_one, &before), "state %d: not taken, and changed", i);
            continue;
        }
        struct policy_action action = policy_release(&long_one, &limits, bytes);
        cr_assert(!action.late_push && !action.need_facts, "state %d: there was something to do",
                  i);
        cr_assert(same(&short_one, &long_one), "state %d: left another state", i);
        taken++;
    }
    EXPECT(taken > 10000);
}
