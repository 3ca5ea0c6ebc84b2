/* SPDX-License-Identifier: MIT
 *
 * policy_release_first() and policy_release() leave the same state.  Both are played from the same states,
 * drawn at random around the states of real connections.
 */
#include "chance.h"
#include "policy_inline.h"
#include "unit.h"

enum { STATES = 200000, LARGEST = 1 << 30 };

static bool seldom(void) {
    return draw(12) == 0;
}

static size_t some_bytes(void) {
    static const size_t sizes[] = {1,          2,       100,   535,   536,
                                   537,        1459,    1460,  1461,  4096,
                                   4097,       65483,   65535, 65536, LARGEST - 1,
                                   LARGEST, SIZE_MAX};
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
        .bursty = draw(2),
        .nodelay_only = seldom(),
        .never_hold = seldom(),
        .untracked_io = seldom(),
        .no_more = seldom(),
        .established = !seldom(),
        .refuses = seldom(),
        .input_ever = !seldom(),
        .from_cache = seldom(),
        .input_pending = seldom(),
        .sndbuf_maybe_full = seldom(),
        .large = seldom(),
        .one_way = seldom(),
        .buffer_limit = (uint16_t)(draw(4) ? BUFFER_MOST : draw(2000)),
        .nodelay_uncertain = seldom(),
        .window_ends = (uint8_t)(draw(2) ? draw(20) : 0),
        .quick_turns = (uint8_t)(draw(2) ? HABIT : draw(HABIT)),
        .hesitated = seldom(),
        .single_turns = (uint8_t)(draw(2) ? HABIT : draw(HABIT)),
        .goes_on = (uint8_t)draw(4),
        .kept_turn = draw(2),
        .position = (uint16_t)(seldom() ? draw(40) : 1 + draw(3)),
        .units = (uint16_t)draw(4),
        .turns = (uint16_t)draw(4),
        .small_writes = (uint16_t)draw(4),
        .unanswered = (uint16_t)draw(20),
        .large_units = (uint8_t)draw(256),
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

static void copy(struct policy *to, const struct policy *from) {
    memcpy(to, from, sizeof(*to));
}

Test(policy_first, what_was_buffered_leaves) {
    const struct policy_limits limits = {.small = 4096, .may_hold = true, .room = BUFFER_MOST};
    int taken = 0;
    for (int i = 0; i < STATES; i++) {
        const struct policy before = some_policy();
        struct policy slow, fast;
        size_t bytes = some_bytes();
        copy(&slow, &before);
        copy(&fast, &before);
        if (!policy_release_first(&fast, bytes)) {
            cr_assert(same(&fast, &before), "state %d: not taken, and changed", i);
            continue;
        }
        struct policy_action action = policy_release(&slow, &limits, bytes);
        cr_assert(!action.late_push && !action.need_facts, "state %d: there was something to do",
                  i);
        cr_assert(same(&fast, &slow), "state %d: left another state", i);
        taken++;
    }
    EXPECT(taken > 10000);
}

/* ---- exchanges of one write --------------------------------------------- */

static const struct policy_limits quiet_limits = {.small = 4096, .may_hold = true, .room = BUFFER_MOST};

/* Of a quiet connection each of these facts is known; each other one makes it another connection. */
static struct policy quiet_policy(enum mode mode) {
    return (struct policy){
        .mode = (uint8_t)mode, .established = true, .input_ever = true, .single_turns = HABIT};
}

/* One fact of `usual` is another one: then `is` is false, or true all the same. */
#define WITH(field, value, wanted)                                                        \
    do {                                                                                  \
        struct policy with_ = usual;                                                      \
        with_.field = (value);                                                            \
        cr_expect(is(&with_) == (wanted), "%s: " #field, mode_names[with_.mode]);         \
    } while (0)
#define NOT_IF(field, value) WITH(field, value, false)
#define ALSO_IF(field)       WITH(field, true, true)

Test(policy_first, what_is_quiet) {
    static const bool quiet[MODE_COUNT] = {
        [MODE_OFF] = true, [MODE_NODELAY] = true, [MODE_AUTO] = true, [MODE_COALESCE] = true};
    bool (*const is)(const struct policy *) = policy_is_quiet;
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        const struct policy usual = quiet_policy((enum mode)mode);
        EXPECT_INT(mode_names[mode], is(&usual), quiet[mode]);
        WITH(single_turns, HABIT - 1, quiet[mode] && mode != MODE_COALESCE);
        if (!quiet[mode])
            continue;
        NOT_IF(app_cork, true);
        NOT_IF(app_more, true);
        NOT_IF(unsure, true);
        NOT_IF(bursty, true);
        NOT_IF(one_way, true);
        NOT_IF(established, false);
        NOT_IF(refuses, true);
        NOT_IF(input_ever, false);
        NOT_IF(input_pending, true);
        NOT_IF(large, true);
        NOT_IF(window_ends, 1);
        NOT_IF(goes_on, 1);
        NOT_IF(kept_turn, true);
        ALSO_IF(buffer_limit);
        ALSO_IF(app_nodelay);
        ALSO_IF(nodelay);
        ALSO_IF(nodelay_only);
        ALSO_IF(never_hold);
        ALSO_IF(untracked_io);
        ALSO_IF(no_more);
        ALSO_IF(from_cache);
        ALSO_IF(sndbuf_maybe_full);
        ALSO_IF(had_option);
        ALSO_IF(hesitated);
        ALSO_IF(window_joined);
    }
}

static struct policy steady_policy(void) {
    return (struct policy){.mode = MODE_AUTO, .bursty = true, .established = true, .input_ever = true};
}

/* A steady connection has each of these facts too. */
Test(policy_first, what_is_steady) {
    bool (*const is)(const struct policy *) = policy_is_steady;
    const struct policy usual = steady_policy();
    for (int mode = 0; mode < MODE_COUNT; mode++)
        WITH(mode, (uint8_t)mode, mode == MODE_AUTO);
    NOT_IF(app_nodelay, true);
    NOT_IF(app_cork, true);
    NOT_IF(app_more, true);
    NOT_IF(unsure, true);
    NOT_IF(bursty, false);
    NOT_IF(nodelay_only, true);
    NOT_IF(never_hold, true);
    NOT_IF(untracked_io, true);
    NOT_IF(no_more, true);
    NOT_IF(one_way, true);
    NOT_IF(established, false);
    NOT_IF(refuses, true);
    NOT_IF(input_ever, false);
    NOT_IF(input_pending, true);
    NOT_IF(large, true);
    NOT_IF(nodelay_uncertain, true);
    NOT_IF(buffer_limit, 1);
    NOT_IF(window_ends, 1);
    NOT_IF(goes_on, 1);
    NOT_IF(kept_turn, true);
    ALSO_IF(nodelay);
    ALSO_IF(from_cache);
    ALSO_IF(sndbuf_maybe_full);
    ALSO_IF(had_option);
    ALSO_IF(hesitated);
    ALSO_IF(window_joined);
}

/* Only a position that has not ended a turn for long, or has ended each one, is sure. */
Test(policy_first, what_a_steady_turn_expects) {
    static const struct {
        const char *name;
        unsigned share, position;
        size_t bytes;
        enum turn_guess guess;
    } rows[] = {
        {"never", TURN_NEVER, 0, 4096, TURN_MORE},
        {"never, too large", TURN_NEVER, 0, 4097, TURN_UNKNOWN},
        {"always", TURN_ALWAYS, 0, 4096, TURN_LAST},
        {"always, large", TURN_ALWAYS, 0, INT32_MAX, TURN_LAST},
        {"not seen", 0, 0, 1, TURN_UNKNOWN},
        {"nearly never", TURN_NEVER + 1, 0, 1, TURN_UNKNOWN},
        {"nearly always", TURN_ALWAYS - 1, 0, 1, TURN_UNKNOWN},
        {"the last position", TURN_ALWAYS, TURN_POSITIONS - 1, 1, TURN_LAST},
        {"beyond it", TURN_ALWAYS, TURN_POSITIONS, 1, TURN_UNKNOWN},
    };
    EACH_ROW(row, rows) {
        struct policy p = steady_policy();
        p.position = (uint16_t)row->position;
        for (unsigned i = 0; i < TURN_POSITIONS; i++)
            p.model.ended[i] = (uint8_t)row->share;
        EXPECT_INT(row->name, policy_steady_guess(&p, p.position, 4096, row->bytes), row->guess);
    }
}

/* The first write of a message passes in the modes that act at the second one. */
Test(policy_first, what_waits_for_the_second) {
    static const bool waits[MODE_COUNT] = {[MODE_NODELAY] = true, [MODE_AUTO] = true};
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        struct policy p = {.mode = (uint8_t)mode};
        EXPECT_INT(mode_names[mode], policy_waits_for_second(&p), waits[mode]);
        p = (struct policy){.mode = (uint8_t)mode, .bursty = true};
        EXPECT_INT("bursty", policy_waits_for_second(&p), mode == MODE_NODELAY);
        const struct policy begun[] = {
            {.mode = (uint8_t)mode, .units = 1},
            {.mode = (uint8_t)mode, .smalls = 1},
            {.mode = (uint8_t)mode, .pending = 1},
            {.mode = (uint8_t)mode, .app_more = true},
        };
        for (size_t i = 0; i < ARRAY_SIZE(begun); i++)
            cr_expect(!policy_waits_for_second(&begun[i]), "%s, %zu", mode_names[mode], i);
    }
}

/* The write of a turn, as hold_join_turn() and the fast path make it. */
static struct policy_action joins_and_writes(struct policy *p, size_t bytes) {
    policy_turn_begins(p, false);
    p->position++;
    return policy_write(p, &quiet_limits, &(struct policy_write){.bytes = bytes});
}

/* Policies that input has reached, as a read leaves them; most are not quiet. */
static bool some_quiet(struct policy *p) {
    const struct policy drawn = some_policy();
    copy(p, &drawn);
    if (!seldom()) {
        static const enum mode modes[] = {MODE_AUTO, MODE_NODELAY, MODE_COALESCE};
        p->mode = modes[draw(ARRAY_SIZE(modes))];
        p->bursty = seldom();
        p->window_ends = (uint8_t)(seldom() * 3);
        p->goes_on = (uint8_t)(seldom() * 2);
    }
    policy_turn_ends(p);
    policy_input(p, 1 + draw(9000), draw(9000));
    return policy_is_quiet(p);
}

static void expect_plain(const struct policy_action *action, bool small, int i) {
    cr_assert(action->how == WRITE_PLAIN && action->ends_unit && action->new_message &&
                  action->small_write == small,
              "state %d: another write", i);
    cr_assert(!action->need_facts && !action->late_push && !action->back_to_app && !action->small_unit &&
                  !action->unanswered && !action->suspected && !action->burst,
              "state %d: there was something to do", i);
}

Test(policy_first, an_exchange_of_one_write) {
    int quiet = 0;
    for (int i = 0; i < STATES * 4; i++) {
        struct policy slow, fast;
        size_t bytes = 1 + some_bytes() % INT32_MAX, got = 1 + draw(9000), asked = draw(9000);
        if (!some_quiet(&fast) || !policy_quiet_takes(&fast, bytes))
            continue;
        copy(&slow, &fast);
        struct policy_action action = joins_and_writes(&slow, bytes);
        expect_plain(&action, policy_quiet_write(&fast, quiet_limits.small, bytes), i);
        cr_assert(same(&fast, &slow), "state %d: the write left another state", i);
        if (policy_leaves_input(got, asked))
            continue;
        policy_turn_ends(&slow);
        policy_input(&slow, got, asked);
        policy_quiet_answer(&fast);
        cr_assert(same(&fast, &slow), "state %d: the answer left another state", i);
        cr_assert(policy_is_quiet(&fast), "state %d: it is quiet no longer", i);
        quiet++;
    }
    EXPECT(quiet > 1000);
}
